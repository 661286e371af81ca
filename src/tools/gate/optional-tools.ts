import { auditor, systemManager } from '../../core/principal.ts'

/** The program's tools that only a daemon, or only some machines, can offer; settings may name them everywhere. */
export const optionalTools: readonly string[] = [
  'search_audit',
  'analyze_business_data',
  'query_and_analyze',
  'run_database_query',
  'run_python_code',
  'extract_file_content',
  'create_dashboard_chart',
  'create_dashboard',
  'list_user_dashboards',
]

/** The roles without which an optional tool does not exist for a user, where it has any. */
export const optionalRoles: Readonly<Record<string, readonly string[]>> = {
  run_python_code: [systemManager],
  search_audit: [auditor],
}
