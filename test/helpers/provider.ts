/** The official SDK's client, as a program that keeps its registration and its tokens in memory. */
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'

/** What the SDK asks of a program that holds its tokens. */
export class Provider implements OAuthClientProvider {
  asked: URL | undefined
  saved: OAuthTokens | undefined
  stateSent = `state-${Math.round(performance.now() * 1000)}`
  #client: OAuthClientInformationFull | undefined
  #verifier = ''
  readonly redirectUrl = 'http://localhost:43210/callback'
  readonly clientMetadata = {
    client_name: 'Story',
    redirect_uris: [this.redirectUrl],
    token_endpoint_auth_method: 'none',
  }
  state(): string {
    return this.stateSent
  }
  clientInformation(): OAuthClientInformationFull | undefined {
    return this.#client
  }
  saveClientInformation(client: OAuthClientInformationFull): void {
    this.#client = client
  }
  tokens(): OAuthTokens | undefined {
    return this.saved
  }
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens
  }
  redirectToAuthorization(url: URL): void {
    this.asked = url
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }
  codeVerifier(): string {
    return this.#verifier
  }
}
