package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.Special;
import java.util.List;
import java.util.Map;

/** Whether two values are equal: true, false, or not known. Values of different types never are. */
final class Equality {
    private Equality() {}

    static boolean isTrue(HclValue a, HclValue b) {
        return Boolean.TRUE.equals(of(a, b).raw());
    }

    static HclValue of(HclValue a, HclValue b) {
        if (!a.isKnown() || !b.isKnown()) {
            return ofUnknown(a, b);
        }
        if (a.isNull() || b.isNull()) {
            return HclValue.of(a.isNull() && b.isNull());
        }
        if (isOpen(a) || isOpen(b)) {
            return conforms(a.type(), b.type()) || conforms(b.type(), a.type()) ? unknown() : HclValue.FALSE;
        }
        if (!a.type().equals(b.type())) {
            return HclValue.FALSE;
        }
        return switch (a.type()) {
            case Primitive.NUMBER -> HclValue.of(a.number().isSame(b.number()));
            case Primitive.BOOL -> HclValue.of(a.isTrue() == b.isTrue());
            case Primitive.STRING -> HclValue.of(a.text().equals(b.text()));
            case Special _ -> HclValue.of(a.typeValue().equals(b.typeValue()));
            case HclType.MapOf _ -> a.entries().keySet().equals(b.entries().keySet()) ? ofParts(a, b) : HclValue.FALSE;
            default -> a.size() == b.size() ? ofParts(a, b) : HclValue.FALSE;
        };
    }

    /** Has a part of which not even the type is known. */
    private static boolean isOpen(HclValue value) {
        return value.type().hasAny() && !value.isWhollyKnown();
    }

    private static HclValue ofParts(HclValue a, HclValue b) {
        List<HclValue> left = a.elements();
        List<HclValue> right = b.elements();
        for (int i = 0; i < left.size(); i++) {
            HclValue same = of(left.get(i), right.get(i));
            if (!same.isKnown() || !same.isTrue()) {
                return same;
            }
        }
        return HclValue.TRUE;
    }

    private static HclValue ofUnknown(HclValue a, HclValue b) {
        HclValue known = a.isKnown() ? a : b;
        HclValue other = a.isKnown() ? b : a;
        boolean differ = known.isKnown()
                && !known.isNull()
                && !other.type().hasAny()
                && !known.type().equals(other.type());
        return differ ? HclValue.FALSE : unknown();
    }

    private static HclValue unknown() {
        return HclValue.unknown(Primitive.BOOL);
    }

    /** Equal but for what the second leaves open. */
    private static boolean conforms(HclType given, HclType wanted) {
        if (wanted == Special.ANY) {
            return true;
        }
        return switch (given) {
            case HclType.Collection collection ->
                wanted instanceof HclType.Collection other
                        && collection.getClass() == other.getClass()
                        && conforms(collection.element(), other.element());
            case HclType.TupleOf(List<HclType> elements) -> {
                if (!(wanted instanceof HclType.TupleOf(List<HclType> others)) || others.size() != elements.size()) {
                    yield false;
                }
                boolean all = true;
                for (int i = 0; i < elements.size(); i++) {
                    all = all && conforms(elements.get(i), others.get(i));
                }
                yield all;
            }
            case HclType.ObjectOf(Map<String, HclType> attributes) ->
                wanted instanceof HclType.ObjectOf(Map<String, HclType> others)
                        && attributes.keySet().equals(others.keySet())
                        && attributes.entrySet().stream().allMatch(each -> {
                            HclType other = others.get(each.getKey());
                            return other != null && conforms(each.getValue(), other);
                        });
            default -> given.equals(wanted);
        };
    }
}
