/** A prompt as a team would write it: sixty lines with loops, conditions, macros and filters that every engine has. */

export const source = `{# Weekly account review #}
{% macro money(value) %}{{ "$" ~ value }}{% endmacro %}
{% macro line(label, value) %}- **{{ label }}**: {{ value|default("n/a") }}{% endmacro %}
# Account review for {{ account.name|upper }}

You are a careful analyst. Write for {{ reader.name|title }} ({{ reader.role }}).
{% if account.tier == "gold" %}
This is a gold account: mention the dedicated support line.
{% elif account.tier == "silver" %}
This is a silver account.
{% else %}
This is a standard account.
{% endif %}

## Facts
{{ line("Owner", account.owner) }}
{{ line("City", account.address.city) }}
{{ line("Country", account.address.country) }}
{{ line("Since", account.since) }}
{{ line("Open tickets", tickets|length) }}

## Orders
| # | Order | Status | Items | Total |
|---|---|---|---|---|
{% for order in orders %}
| {{ loop.index }} | {{ order.id }} | {{ order.status|capitalize }} | {{ order.lines|length }} | {{ money(order.total) }} |
{% if order.lines %}
{% for item in order.lines %}
|   | {{ item.sku }} | {{ item.name|title }} | {{ item.quantity }} | {{ money(item.quantity * item.price) }} |
{% endfor %}
{% endif %}
{% if order.total > 1000 and order.status != "paid" %}
> Attention: order {{ order.id }} is large and not paid yet.
{% endif %}
{% else %}
No orders this week.
{% endfor %}

## Tickets
{% for ticket in tickets %}
{{ loop.index }}. [{{ ticket.priority|upper }}] {{ ticket.subject|trim }}{% if not loop.last %};{% else %}.{% endif %}
   {% if ticket.tags %}Tags: {{ ticket.tags|join(", ") }}{% endif %}
   {% if ticket.priority == "high" or ticket.age > 7 %}Escalate.{% endif %}
{% endfor %}

{% set limit = 3 %}
## Tasks
1. Summarise the week in at most {{ limit + 2 }} sentences.
2. Name the {{ limit }} largest risks.
{% if tickets|length > limit %}
3. There are {{ tickets|length - limit }} more tickets than usual: say why.
{% endif %}
{% for rule in rules %}
{{ loop.index + 3 }}. {{ rule }}
{% endfor %}

Answer in {{ language|default("English") }}.
`

const names = ['steel bolt', 'copper wire', 'hex nut', 'safety valve']

/** What it is rendered with. */
export const args = {
  account: {
    name: 'Northwind Traders',
    tier: 'gold',
    owner: 'Ada Lovelace',
    since: '2019-04-01',
    address: { city: 'Rotterdam', country: 'Netherlands' },
  },
  reader: { name: 'grace hopper', role: 'sales manager' },
  orders: Array.from({ length: 6 }, (_, i) => ({
    id: `SO-${1000 + i}`,
    status: i % 2 === 0 ? 'open' : 'paid',
    total: 250.25 * (i + 1),
    lines: names.slice(0, i % 4).map((name, j) => ({ sku: `K${i}${j}`, name, quantity: j + 1, price: 12.5 })),
  })),
  tickets: Array.from({ length: 6 }, (_, i) => ({
    subject: ` Ticket number ${i} about a late delivery `,
    priority: i % 3 === 0 ? 'high' : 'low',
    age: i * 2,
    tags: ['delivery', 'late', 'eu'].slice(0, i % 4),
  })),
  rules: ['Use no jargon.', 'Quote amounts exactly.', 'Keep the tone friendly.'],
}
