/** Where syslog messages go. */
export interface SyslogSettings {
  readonly transport: 'udp' | 'tcp' | 'tls' | 'unix'
}
