/** Where a webhook is. */
export interface WebhookSettings {
  readonly url: string
}
