/** The commonest passwords of leaked lists that are long enough to be taken, as the first eight digits of their SHA-256. */
import { createHash } from 'node:crypto'

const digests = new Set(
  `
  09fba794 0a67248b 0de05e45 151add3e 17417ebf 1cee46ed 1e3bb894 27eecf97 2943a567 2c402093 2efa77ad
  2f5f6ce5 30fdf15f 34dce12a 35f91566 36aa15a8 3700adf1 373d3380 395f2910 3a5745a0 3f5c0b5f 40f598cc
  410f3004 4194d170 41d02f3b 41fbeb46 4346ff92 43908748 44ce673c 46a281cd 4922b0b6 5d5a70a2 5e4ff8eb
  5ffed2e1 617034c2 6c5f285a 6fd22e41 70e448ef 74305616 748ba8ba 74af1ea2 765ad9f4 7a7adbec 7fd06f0e
  84ebc1ba 8bf4dec5 8d2cc398 9253229b 958d5160 9f89d5f5 a18ac4e6 a2456ff0 a662c951 a90a2073 a91f0cc2
  a92cadae acf45488 b108fdf8 b10e6427 b5867a2a b822bb93 b9c95064 c127f7aa c402d13b c5a2c0a2 c5c08813
  c7e40225 c8c38b9c c9034e49 cb5e0fac cd340d1a cdf4a007 d1c48584 d6235e6c d8aafc4b dbdcf01b e38b599e
  e4005e2c e5bdf693 e9fe2cda ec71a57e ecef7b1e eda9bfb9 f09b64fb f215faf9 f7bcd2d4 f86c4d10 f941f557
`.match(/[0-9a-f]{8}/g),
)

/** Whether a password, in lower case, is one that everybody tries. */
export function isCommon(password: string): boolean {
  return digests.has(createHash('sha256').update(password).digest('hex').slice(0, 8))
}
