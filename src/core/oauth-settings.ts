/** The sections `oauth` and `login` of `config/settings.yaml`: access for clients and sign-in for people. */
import { homepage } from './version.ts'
import {
  flag,
  httpsUri,
  lines,
  nonNegative,
  orNone,
  positive,
  section,
  uri,
  word,
} from '#leaf/setting-types.ts'
import { references } from '#leaf/references.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { secretName } from '#leaf/secret-files.ts'
import { business } from '#leaf/who-decides.ts'

/** Matches schemes that run, read or reach something in the browser: never a callback, whatever the settings say. */
export const dangerousScheme =
  /^(javascript|data|file|vbscript|blob|filesystem|about|ws|wss|ftp|ftps|gopher|mailto|tel|sms|view-source|jar|resource|chrome|chrome-extension|moz-extension|edge|opera|brave|intent|content|android-app|ms-appx|ms-appx-web|ms-msdt|search-ms|mhtml|mk|res|livescript|mocha|feed|ldap|smb|ssh|git|urn|cid|mid|x-javascript|wyciwyg|devtools|livereload|itms-services|shell|hcp|telnet|magnet)$/i

/** Settings of the authorization server. */
export const oauthSettings = section({
  enable_dynamic_client_registration: { ...flag, default: true },
  allowed_public_client_origins: { ...lines, default: [] },
  show_authorization_server_metadata: { ...flag, default: true },
  show_protected_resource_metadata: { ...flag, default: true },
  resource_name: business({ type: ['string', 'null'], default: null }),
  documentation_url: business({ ...uri, default: homepage }),
  policy_uri: business(uri),
  terms_of_service_uri: business(uri),
  supported_scopes: { ...lines, default: [] },
  skip_authorization: { ...flag, default: false },
  developer_mode: { ...flag, default: false },
  native_redirect_schemes: {
    ...lines,
    default: [
      'cursor',
      'vscode',
      'vscode-insiders',
      'vscodium',
      'windsurf',
      'zed',
      'claude',
      'com.openai.chat',
      'raycast',
      'goose',
      'kiro',
    ],
  },
  client_id_metadata_documents: { enum: ['auto', true, false], default: 'auto' },
  client_documents: {
    type: 'array',
    default: [],
    items: objectWith(
      {
        client_id: {
          type: 'string',
          pattern: '^https://[^/]+/',
          title: 'the https address of the document that describes the client',
        },
        client_name: { type: 'string', minLength: 1, maxLength: 200 },
        redirect_uris: { type: 'array', minItems: 1, items: word },
      },
      { logo_uri: httpsUri },
    ),
  },
  identity_assertions: {
    type: 'array',
    default: [],
    items: objectWith(
      {
        issuer: httpsUri,
        clients: { type: 'array', minItems: 1, items: word },
      },
      {
        jwks_uri: httpsUri,
        claim: word,
      },
    ),
  },
  egress_proxy: orNone('^http://[^/@?#]+/?$', 'http://HOST:PORT, without a password'),
  require_pkce_for_confidential_clients: { ...flag, default: true },
  access_token_seconds: { ...positive, default: 3600 },
  refresh_token_days: { ...positive, default: 30 },
  grant_days: { ...nonNegative, default: 365 },
  code_seconds: { type: 'integer', minimum: 1, maximum: 60, default: 60 },
  refresh_grace_seconds: { type: 'integer', minimum: 0, maximum: 600, default: 60 },
  unused_client_minutes: { ...positive, default: 60 },
  idle_client_days: { ...positive, default: 90 },
  max_clients: { ...positive, default: 2000 },
})

/** Settings of sign-in. */
export const loginSettings = section({
  passwords: { ...flag, default: true },
  session_hours: { ...positive, default: 12 },
  second_factor_roles: { ...lines, items: references('role', lines.items), default: [] },
  oidc: {
    type: ['object', 'null'],
    default: null,
    additionalProperties: false,
    required: ['issuer', 'client_id', 'client_secret_file'],
    properties: {
      issuer: {
        type: 'string',
        pattern: '^https?://',
        title: 'an address that begins with https:// or http://',
      },
      client_id: word,
      client_secret_file: secretName,
      label: word,
      scopes: word,
    },
  },
})
