/** The kinds of databases of others; MySQL and MariaDB are told apart by what they say themselves. */
export const sourceTypes = ['postgres', 'mysql', 'mariadb'] as const
