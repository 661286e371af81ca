/** Examples of every command, in one table: help shows them, the manual page prints them, a test runs over them. */

/** As in a terminal, so that an example can be told from its output. */
const program = '$ assistant-core'

const table: Readonly<Record<string, readonly string[]>> = {
  serve: ['serve --site /srv/site --state /var/lib/assistant-core', 'serve --port 0'],
  init: ['init my-site && assistant-core check --site my-site'],
  check: ['check --site my-site'],
  migrate: ['migrate --site my-site --dry-run'],
  reload: ['reload'],
  status: ['status', 'status --json'],
  metrics: ['metrics'],
  doctor: ['doctor', 'doctor --public https://assistant.example.com'],
  'keys list': ['keys list'],
  'keys rotate': ['keys rotate', 'keys rotate --at-once'],
  'oauth trace': ['oauth trace -n 5'],
  'users list': ['users list --json'],
  'users passwd': [
    'users passwd maria@example.com',
    'users passwd maria@example.com --password-stdin < phrase',
  ],
  'api-keys create': ['api-keys create --user sales@example.com --label "nightly report" --ttl 90d'],
  'api-keys list': ['api-keys list --user sales@example.com'],
  'api-keys revoke': ['api-keys revoke KEY'],
  'tokens issue': [
    'tokens issue --user sales@example.com',
    'tokens issue --user sales@example.com --ttl 12h --json | jq -r .access_token',
  ],
  'tokens list': ['tokens list --user sales@example.com'],
  'tokens revoke': ['tokens revoke --user sales@example.com'],
  'clients register': [
    'clients register --name "Report portal" --redirect-uri https://portal.example.com/callback --auth-method client_secret_basic',
  ],
  'clients list': ['clients list'],
  'clients show': ['clients show CLIENT_ID'],
  'clients update': ['clients update CLIENT_ID --name "Report portal"'],
  'clients rotate-secret': ['clients rotate-secret CLIENT_ID'],
  'clients remove': ['clients remove CLIENT_ID'],
  'clients prune': ['clients prune --dry-run'],
  'prompts list': ['prompts list --user sales@example.com'],
  'prompts show': ['prompts show sales_analysis'],
  'prompts preview': [
    'prompts preview sales_analysis --arg analysis_focus=revenue_trends',
    'prompts preview prompts/visit_report.md --arg customer=Acme --watch',
  ],
  'prompts test': ['prompts test visit_report --site my-site'],
  'prompts history': ['prompts history visit_report -n 3'],
  'prompts diff': ['prompts diff main'],
  'prompts restore': ['prompts restore visit_report 2'],
  'prompts version': ['prompts version visit_report --notes "for the spring campaign"'],
  'prompts duplicate': ['prompts duplicate sales_analysis --user sales@example.com'],
  'prompts search': ['prompts search quarterly revenue'],
  'prompts usage': ['prompts usage -n 5'],
  'audit tail': ['audit tail -n 50', 'audit tail -f --user sales@example.com'],
  'audit search': ['audit search --type tool.call --status denied --since 7d'],
  'audit export': ['audit export --format csv --since 30d > audit.csv'],
  'audit stats': ['audit stats --since 7d'],
  'audit verify': ['audit verify'],
  'access explain': [
    'access explain sales@example.com create_document',
    'access explain sales@example.com Customer CUST-0001 --client CLIENT_ID',
  ],
  backup: [
    'backup /var/backups/assistant-core/monday.backup',
    'backup - | ssh store "cat > monday.backup"',
    'backup monday.backup --audit /var/backups/assistant-core/audit',
  ],
  restore: [
    'restore monday.backup --audit /var/backups/assistant-core/audit --state /var/lib/assistant-core --move-aside',
  ],
  'store verify': ['store verify', 'store verify --file monday.backup'],
  'store migrate': ['store migrate --dry-run'],
  'store copy': ['store copy --to postgres', 'store copy --to embedded --json'],
  install: ['install --systemd --dry-run', 'install --systemd'],
  uninstall: ['uninstall --systemd --dry-run'],
  manual: ['manual | man -l -'],
  completion: [
    'completion bash > /etc/bash_completion.d/assistant-core',
    'completion zsh > "${fpath[1]}/_assistant-core"',
    'completion fish > ~/.config/fish/completions/assistant-core.fish',
  ],
}

/** The examples of the command with these words; none for a word that only groups others. */
export function examplesOf(path: readonly string[]): readonly string[] {
  return (table[path.join(' ')] ?? []).map((example) => `${program} ${example}`)
}

/** Every command that has examples. */
export const exampleCommands: readonly string[] = Object.keys(table)
