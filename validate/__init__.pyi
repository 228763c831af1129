from validate.cross_check import CrossCheck as CrossCheck
from validate.cross_check import crosscheck as crosscheck
from validate.plan import ValidationPlan as ValidationPlan
from validate.verdict import Comparison as Comparison
from validate.verdict import Verdict as Verdict
from validate.verdict import judge as judge
