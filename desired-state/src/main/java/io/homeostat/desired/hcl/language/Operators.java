package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.Expression.Operator;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.Special;
import java.util.List;

/** What operators do with values that have the type they want, or are null or not known. */
final class Operators {
    private final Budget budget;

    Operators(Conversions conversions) {
        this.budget = conversions.budget();
    }

    static HclType operandType(Operator operator) {
        return switch (operator) {
            case OR, AND, NOT -> Primitive.BOOL;
            case EQUAL, NOT_EQUAL -> Special.ANY;
            default -> Primitive.NUMBER;
        };
    }

    static HclType resultType(Operator operator) {
        return switch (operator) {
            case ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, NEGATE -> Primitive.NUMBER;
            default -> Primitive.BOOL;
        };
    }

    HclValue apply(Operator operator, List<HclValue> operands) {
        HclValue left = operands.getFirst();
        HclValue right = operands.getLast();
        if (operator == Operator.EQUAL || operator == Operator.NOT_EQUAL) {
            HclValue same = Equality.of(left, right);
            return same.isKnown() && operator == Operator.NOT_EQUAL ? HclValue.of(!same.isTrue()) : same;
        }
        if (operands.stream().anyMatch(HclValue::isNull)) {
            throw HclException.of("has null as an operand of \"" + operator.symbol + "\"");
        }
        if (operands.stream().anyMatch(each -> !each.isKnown())) {
            return HclValue.unknown(resultType(operator));
        }
        return switch (operator) {
            case OR -> HclValue.of(left.isTrue() || right.isTrue());
            case AND -> HclValue.of(left.isTrue() && right.isTrue());
            case NOT -> HclValue.of(!left.isTrue());
            case GREATER -> HclValue.of(compare(left, right) > 0);
            case GREATER_OR_EQUAL -> HclValue.of(compare(left, right) > 0 || isSame(left, right));
            case LESS -> HclValue.of(compare(left, right) < 0);
            case LESS_OR_EQUAL -> HclValue.of(compare(left, right) < 0 || isSame(left, right));
            default -> number(operator, left.number(), right.number());
        };
    }

    private static int compare(HclValue left, HclValue right) {
        return left.number().compare(right.number());
    }

    private static boolean isSame(HclValue left, HclValue right) {
        return left.number().isSame(right.number());
    }

    private HclValue number(Operator operator, HclNumber left, HclNumber right) {
        // Numbers are long ones, so calculating takes more than a step.
        budget.steps(20);
        return HclValue.of(
                switch (operator) {
                    case ADD -> left.plus(right);
                    case SUBTRACT -> left.minus(right);
                    case MULTIPLY -> left.times(right);
                    case DIVIDE -> left.dividedBy(right);
                    case MODULO -> left.modulo(right);
                    default -> left.negated();
                });
    }
}
