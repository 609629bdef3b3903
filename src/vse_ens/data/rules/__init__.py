"""Rules on labels: aliases, renamed labels and implications, stored as events and applied to pairs."""

from vse_ens.data.rules.apply import AppliedRules as AppliedRules
from vse_ens.data.rules.apply import apply_rules as apply_rules
from vse_ens.data.rules.rule_set import Rule as Rule
from vse_ens.data.rules.rule_set import RuleKind as RuleKind
from vse_ens.data.rules.rule_set import RuleSet as RuleSet
from vse_ens.data.rules.store import RulesFile as RulesFile
from vse_ens.data.rules.store import read_rules as read_rules
