"""The commented ``spiritlevel.yaml`` that ``spiritlevel init`` writes."""

SERVICE_TEXT = """\
# What the spiritlevel service is to do. Every line that is commented out is an example, or shows its default.
# Secrets are named by the environment variable that holds them (or, with _FILE after it, the file); never written here.

# Each family that the model registry knows, with the audits that are due again and again.
families:
#  nova-chat:
#    releases: [newest]         # also "@champion" or a version; each is audited at all times below
#    on_new_version: true       # a newly registered version is audited at once, against the previous one
#    audit_previous: true       # and that one first, when there is no finished audit to compare with
#    audits:
#      - protocol: persona-brainstorm
#        personas: 2000
#        cron: "0 3 * * 1"      # minute hour day month weekday: Mondays at 03:00
#        zone: Europe/Madrid    # where the clock changes, there is still one run a day
#        grace: 1h              # a run that begins later says so
#        concurrency: 8         # calls under way at the same time
#        share: 1               # workers that work on one audit together
#        budget: {tokens: 3000000}
#      - protocol: persona-brainstorm
#        name: monthly          # two audits of one protocol need a name
#        personas: 10000
#        every: 30d             # instead of cron; steps from a fixed anchor, so that a restart moves nothing
#        anchor: 2026-01-05T03:00  # steps are counted from it in both directions: one in the future delays nothing
#    policy: {alpha: 0.01}      # what differs from [policy] and [gate] in spiritlevel.toml
#    gate: {threshold: 0.66}
#    alerts: {channels: [pager], at_least: medium}
#    budget: {tokens_per_month: 20000000}

# Where alerts go. 'file' needs nothing; 'apprise' reaches mail, chat and pagers.
channels:
#  log: {kind: file, path: alerts.jsonl}
#  pager: {kind: apprise, url_env: PAGER_URL}
#  hook: {kind: webhook, url: https://example.org/hook, secret_env: HOOK_SECRET}

alerts:
#  channels: [pager]            # default: all of them
#  at_least: low                # low, medium, high or very high
#  severities: {overdue: medium}
#  renotify: 7d                 # while it is open and nobody acknowledged it
#  replicate: true              # a second sample must confirm a finding before a high alert leaves
#  quiet_hours: {from: "22:00", to: "07:00", zone: Europe/Madrid, except_severity: high}

# Limits of providers over all workers together. The key is the host of the endpoint.
providers:
#  api.openai.com: {concurrency: 16, calls_per_minute: 500, tokens_per_minute: 200000}

# What a calendar month (UTC) may take, over all families. In dollars only where every release has prices.
budget:
#  usd_per_month: 200
#  tokens_per_month: 50000000

service:
#  host: 127.0.0.1              # this machine only
#  port: 8321
#  poll: 60s                    # how often it looks what is due, and for new versions
#  webhook_secret_env: SPIRITLEVEL_WEBHOOK_SECRET

# work_pool: spiritlevel        # of Prefect, when audits run on workers

links:
#  mlflow: https://mlflow.example.org
#  cards: https://cards.example.org
"""
