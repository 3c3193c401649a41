package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.util.List;
import java.util.Map;

/** Which of two types is the more general one: text before numbers, lists before tuples, anything before "any". */
final class TypePreference {
    private TypePreference() {}

    /** Negative when the first is preferred, 0 when neither is. */
    static int compare(HclType a, HclType b) {
        if (a == Special.ANY || b == Special.ANY) {
            return Boolean.compare(a == Special.ANY, b == Special.ANY);
        }
        if (a instanceof Primitive && b instanceof Primitive) {
            return Boolean.compare(b == Primitive.STRING, a == Primitive.STRING);
        }
        if (a instanceof HclType.Collection x && b instanceof HclType.Collection y && a.getClass() == b.getClass()) {
            return compare(x.element(), y.element());
        }
        if (a instanceof ObjectOf(Map<String, HclType> x) && b instanceof ObjectOf(Map<String, HclType> y)) {
            return x.keySet().equals(y.keySet()) ? compareParts(List.copyOf(x.values()), List.copyOf(y.values())) : 0;
        }
        if (a instanceof TupleOf(List<HclType> x) && b instanceof TupleOf(List<HclType> y)) {
            return x.size() == y.size() ? compareParts(x, y) : 0;
        }
        if (isMoreGeneral(a, b)) {
            return -1;
        }
        return isMoreGeneral(b, a) ? 1 : 0;
    }

    private static boolean isMoreGeneral(HclType a, HclType b) {
        return (b instanceof SetOf && (a instanceof TupleOf || a instanceof ListOf))
                || (a instanceof ListOf && b instanceof TupleOf)
                || (a instanceof MapOf && b instanceof ObjectOf);
    }

    private static int compareParts(List<HclType> a, List<HclType> b) {
        boolean before = false;
        boolean after = false;
        for (int i = 0; i < a.size(); i++) {
            int order = compare(a.get(i), b.get(i));
            before |= order < 0;
            after |= order > 0;
        }
        return before == after ? 0 : before ? -1 : 1;
    }
}
