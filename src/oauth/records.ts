/** The records that the authorization server stores, and their collections. Times are epoch milliseconds. */
import type { CollectionSpec, Stored } from '#state/store.ts'

/** The method by which a client proves its identity at the token endpoint. */
export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** A registered client (specification §2.2). */
export interface Client extends Stored {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly authMethod: AuthMethod
  /** The one who vouches for it: itself, the operator, a document at its URL, or the program. */
  readonly source: 'dynamic' | 'operator' | 'document' | 'built_in'
  /** True when it follows a copy of its document, since the document itself could not be fetched. */
  readonly isCopy?: true
  /**
   * SHA-256 of the secret, only of confidential clients. We made the secret, of 256 bits, and no hash is slow enough to
   * matter for what nobody can guess (RFC 6819 §5.1.4.1.3).
   */
  readonly secretDigest?: string
  /** The argon2id hash of a secret made by a release up to 2.9; stays, for daemons that are not updated yet. */
  readonly secretHash?: string
  /** The rest of the metadata it registered (RFC 7591 §2), in wire names. */
  readonly metadata: Readonly<Record<string, unknown>>
  readonly createdAt: number
  /** The time of its first token, and the user it was for. */
  readonly activatedAt?: number
  readonly activatedBy?: string
  readonly lastUsedAt?: number
  /** The end of a client that nobody uses; set until it is activated. */
  readonly expiresAt?: number
  /** The network from which it registered itself, until it is activated. */
  readonly network?: string
  /** The time until which it keeps its place because this user has its consent page open. */
  readonly heldUntil?: number
  readonly heldBy?: string
}

/** One user's approval of one client, which is remembered, listed and revoked. */
export interface Grant extends Stored {
  readonly user: string
  readonly client: string
  readonly clientName: string
  readonly redirectHost: string
  readonly scopes: readonly string[]
  /** True when the user narrowed it to reading. */
  readonly readOnly?: true
  readonly createdAt: number
  readonly approvedAt: number
  /** The network address that it was last approved from. */
  readonly from?: string
}

/** An authorization code, kept after its use so that a second use is recognized. */
export interface Code extends Stored {
  readonly client: string
  readonly user: string
  readonly grant: string
  readonly redirectUri: string
  readonly challenge?: string
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly resource: string
  readonly nonce?: string
  readonly authTime: number
  /** The line of `oauth trace` that it belongs to. */
  readonly attempt: string
  readonly endsAt: number
  readonly usedAt?: number
  /** The token family that its first use produced. */
  readonly family?: string
  readonly forgetAt: number
}

/** A token family: all tokens that came of one code or one `tokens issue`, with refresh tokens following each other. */
export interface Family extends Stored {
  readonly user: string
  readonly client: string
  readonly clientName: string
  readonly grant?: string
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly resource: string
  readonly createdAt: number
  readonly expiresAt: number
  /** The network addresses (CIDR) from which its tokens may be used; any when absent. */
  readonly addresses?: readonly string[]
  readonly label?: string
  readonly vouchedBy?: string
  readonly accessSeconds?: number
  readonly authTime?: number
  /** The key that tells refresh tokens we made from those that somebody made up. */
  readonly markKey: string
  readonly generation: number
  /** SHA-256 of the one refresh token that works; absent when there is none. */
  readonly currentHash?: string
  readonly previousHash?: string
  readonly rotatedAt?: number
  /** The salt from which the successor was derived, so that a repeated refresh gets the same one. */
  readonly rotationSalt?: string
  readonly revokedAt?: number
  readonly revokedWhy?: string
  readonly forgetAt: number
}

/** A bearer token (specification §2.1). */
export interface AccessToken extends Stored {
  /** SHA-256 of the token. */
  readonly hash: string
  readonly family: string
  readonly user: string
  readonly client: string
  readonly clientName: string
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly resource: string
  readonly status: 'Active' | 'Revoked'
  readonly issuedAt: number
  readonly expiresAt: number
  readonly addresses?: readonly string[]
  /** The time until which it is kept; it is kept past its end, so that the client is told why. */
  readonly forgetAt: number
}

/** The use of a family, or of an API key as `key:<id>`: when and how often. */
export interface UsageRecord extends Stored {
  readonly lastUsedAt: number
  /** The network address of that use. */
  readonly from?: string
  /** The number of calls by UTC day (`2026-01-31`), the last 30 of them. */
  readonly days: Readonly<Record<string, number>>
  readonly forgetAt: number
}

/** Registered clients. Those that registered themselves expire unless they get a token in time. */
export const clientRecords: CollectionSpec<Client> = {
  name: 'oauth.client',
  indexes: ['source'],
  expires: 'expiresAt',
}
/**
 * Approvals of users, found by user for the page of connected apps and by client when one is
 * removed.
 */
export const grantRecords: CollectionSpec<Grant> = { name: 'oauth.grant', indexes: ['user', 'client'] }
/**
 * Authorization codes, stored under the hash of each. A used one is kept until `forgetAt`, so that a second
 * use is recognized (RFC 6749 §4.1.2).
 */
export const codeRecords: CollectionSpec<Code> = { name: 'oauth.code', expires: 'forgetAt' }
/**
 * Token families: access that was given once, with every token that came of it. A refresh token that is
 * used again, its grace period over, ends the whole family (RFC 9700 §4.14.2).
 */
export const familyRecords: CollectionSpec<Family> = {
  name: 'oauth.family',
  indexes: ['user', 'client', 'grant'],
  expires: 'forgetAt',
}
/**
 * Access tokens, found by the hash of the token in a request; unique, because one token stands for one
 * user.
 */
export const tokenRecords: CollectionSpec<AccessToken> = {
  name: 'oauth.token',
  indexes: ['hash', 'family', 'user', 'client'],
  unique: ['hash'],
  ordered: ['issuedAt'],
  expires: 'forgetAt',
}
/** Use of families and API keys; stored apart from them, since it is written far more often. */
export const usageRecords: CollectionSpec<UsageRecord> = { name: 'oauth.usage', expires: 'forgetAt' }
