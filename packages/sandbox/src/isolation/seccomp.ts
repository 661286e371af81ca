/**
 * The system calls that a sandboxed program is denied, as the classic BPF program that the kernel
 * runs (seccomp(2)). Namespaces already hide files, processes and the network; this takes away the
 * kernel surface that escapes are made of, and every way to start a second process, so that limits
 * that the kernel counts per process hold for the whole sandbox.
 */

interface Machine {
  /** `AUDIT_ARCH_*` of linux/audit.h. */
  readonly audit: number
  readonly clone: number
  readonly clone3: number
  readonly socket: number
  /** System calls that answer EPERM. */
  readonly denied: readonly number[]
}

// From 424 on, numbers are the same on every machine: open_tree … mount_setattr, io_uring_*, pidfd_*, quotactl_fd, memfd_secret.
const everywhere = [425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 440, 442, 443, 447]

const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    socket: 41,
    denied: [
      // fork, vfork, setsid (a session weighs on its own), ptrace, process_vm_readv, process_vm_writev, kcmp
      57, 58, 112, 101, 310, 311, 312,
      // mount, umount2, pivot_root, chroot, unshare, setns, name_to_handle_at, open_by_handle_at
      165, 166, 155, 161, 272, 308, 303, 304,
      // bpf, perf_event_open, userfaultfd, add_key, request_key, keyctl
      321, 298, 323, 248, 249, 250,
      // kexec_load, kexec_file_load, init_module, finit_module, delete_module, reboot, swapon, swapoff, acct, quotactl
      246,
      320, 175, 313, 176, 169, 167, 168, 163, 179,
      // memory outside the address space limit: memfd_create, shmget, shmat, shmctl, msgget, semget, mq_open
      319, 29, 30, 31, 68, 64, 240,
      // personality, syslog, settimeofday, clock_settime, clock_adjtime, adjtimex, iopl, ioperm, modify_ldt, vhangup
      135,
      103, 164, 227, 305, 159, 172, 173, 154, 153,
      // lookup_dcookie, nfsservctl, uselib, ustat, sysfs, _sysctl, mbind, set_mempolicy, get_mempolicy, migrate_pages, move_pages, fanotify_init
      212,
      180, 134, 136, 139, 156, 237, 238, 239, 256, 279, 300,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    socket: 198,
    denied: [
      157, 117, 270, 271, 272, 40, 39, 41, 51, 97, 268, 264, 265, 280, 241, 282, 217, 218, 219, 104, 294, 105,
      273, 106, 142, 224, 225, 89, 60, 279, 194, 195, 196, 186, 190, 180, 92, 116, 170, 112, 266, 171, 58, 18,
      42, 235, 236, 237, 238, 239, 262,
    ],
  },
}

// linux/bpf_common.h, linux/seccomp.h, sched.h, errno.h
const load = 0x20
const jumpEqual = 0x15
const jumpAtLeast = 0x35
const jumpSet = 0x45
const answer = 0x06
const allow = 0x7fff0000
const kill = 0x80000000
const fail = (errno: number): number => 0x00050000 | errno
const eperm = 1
const enosys = 38
const eafnosupport = 97
const cloneThread = 0x00010000
const cloneNew = 0x7e020080

/** Returns the filter for this machine in the form that `bwrap --seccomp` reads; undefined where we know no numbers. */
export function seccompProgram(machine: string): Uint8Array | undefined {
  const known = machines[machine]
  if (!known) return undefined
  const { audit, clone, clone3, socket, denied } = known
  // Offsets in struct seccomp_data: nr 0, arch 4, low half of the first argument 16.
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    [load, 0, 0, 4],
    [jumpEqual, 1, 0, audit],
    [answer, 0, 0, kill],
    [load, 0, 0, 0],
    // The x32 numbers of x86-64 would be a second way in.
    [jumpAtLeast, 0, 1, 0x40000000],
    [answer, 0, 0, kill],
    // ENOSYS makes the C library fall back to clone, whose flags a filter can read.
    [jumpEqual, 0, 1, clone3],
    [answer, 0, 0, fail(enosys)],
  ]
  for (const number of [...denied, ...everywhere]) {
    program.push([jumpEqual, 0, 1, number], [answer, 0, 0, fail(eperm)])
  }
  program.push(
    [jumpEqual, 0, 5, clone],
    [load, 0, 0, 16],
    [jumpSet, 2, 0, cloneNew],
    // Threads are allowed, processes are not.
    [jumpSet, 0, 1, cloneThread],
    [answer, 0, 0, allow],
    [answer, 0, 0, fail(eperm)],
    // Only AF_UNIX, AF_INET and AF_INET6: AF_VSOCK is not bound to the network namespace, AF_NETLINK and AF_ALG are surface.
    [jumpEqual, 0, 6, socket],
    [load, 0, 0, 16],
    [jumpEqual, 3, 0, 1],
    [jumpEqual, 2, 0, 2],
    [jumpEqual, 1, 0, 10],
    [answer, 0, 0, fail(eafnosupport)],
    [answer, 0, 0, allow],
    [answer, 0, 0, allow],
  )
  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  })
  return bytes
}
