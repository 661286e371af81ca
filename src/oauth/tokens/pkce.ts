/** PKCE with S256, the only method supported (RFC 7636, specification §5.9). */
import { sameText, sha256 } from '#leaf/secrets.ts'

/** True when a text can be an S256 challenge: 32 bytes in base64url without padding. */
export function isChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** True when a text can be a verifier (RFC 7636 §4.1). */
export function isVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text)
}

/** True when a verifier matches its challenge (RFC 7636 §4.6). */
export function verifierMatches(verifier: string, challenge: string): boolean {
  return isVerifier(verifier) && sameText(sha256(verifier), challenge)
}
