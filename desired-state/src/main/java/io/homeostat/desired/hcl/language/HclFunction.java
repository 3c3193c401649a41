package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.Special;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A function that expressions may call.
 *
 * @param parameters their types
 * @param more of any further arguments, null when there may be none
 * @param accepts what arguments may be besides known values
 * @param result of these arguments; null when they don't fit
 * @param implementation called only with what is accepted
 */
record HclFunction(
        List<HclType> parameters,
        @Nullable HclType more,
        Set<Accepted> accepts,
        Function<List<HclValue>, HclType> result,
        Function<List<HclValue>, HclValue> implementation) {

    enum Accepted {
        NULL,
        UNKNOWN,
        /** Of an unknown type; without it, nothing is known of the result either. */
        UNTYPED
    }

    static HclFunction of(List<HclType> parameters, HclType result, Function<List<HclValue>, HclValue> implementation) {
        return new HclFunction(parameters, null, EnumSet.of(Accepted.UNTYPED), _ -> result, implementation);
    }

    boolean takes(int arguments) {
        return more == null ? arguments == parameters.size() : arguments >= parameters.size();
    }

    String arity() {
        return more == null ? String.valueOf(parameters.size()) : "at least " + parameters.size();
    }

    HclType parameter(int index) {
        return index < parameters.size() || more == null ? parameters.get(index) : more;
    }

    /**
     * @param arguments already of the types of the parameters
     * @throws HclException what the function does not accept, as the end of a sentence
     */
    HclValue call(List<HclValue> arguments) {
        for (HclValue each : arguments) {
            if (each.isNull() && !accepts.contains(Accepted.NULL)) {
                throw HclException.of("does not take null");
            }
            if (each.type() == Special.ANY && !accepts.contains(Accepted.UNTYPED)) {
                return HclValue.DYNAMIC;
            }
        }
        HclType type = result.apply(arguments);
        boolean known = arguments.stream().allMatch(HclValue::isKnown);
        return known || accepts.contains(Accepted.UNKNOWN) ? implementation.apply(arguments) : HclValue.unknown(type);
    }
}
