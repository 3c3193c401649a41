package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Makes a value of one type one of another, as HCL does: numbers and bools become text, text becomes a number or bool when it is one,
 * a list takes the one type that all its elements can have. First it is found whether there is a conversion between two types at all,
 * then it may still fail because of the value.
 */
public final class Conversions {
    private final Budget budget;

    public Conversions(Budget budget) {
        this.budget = budget;
    }

    Budget budget() {
        return budget;
    }

    /**
     * A value of this type that means the same.
     *
     * @throws HclException when the value can't become one of this type
     */
    public HclValue convert(HclValue value, HclType wanted) {
        if (value.type().equals(wanted)) {
            return value;
        }
        UnaryOperator<HclValue> conversion = find(value.type(), wanted, true);
        if (conversion == null) {
            throw mismatch(value.type(), wanted);
        }
        return conversion.apply(value);
    }

    static HclException mismatch(HclType given, HclType wanted) {
        boolean alike = wanted.noun().equals(given.noun());
        return HclException.of(
                alike
                        ? "has a part of the wrong type: it should be " + wanted.expression()
                        : "should be " + wanted.noun() + ", not " + given.noun());
    }

    /**
     * Null when there is none.
     *
     * @param trying whether conversions count that may fail because of the value, such as of text to a number
     */
    @Nullable
    UnaryOperator<HclValue> find(HclType from, HclType to, boolean trying) {
        budget.step();
        budget.enter();
        try {
            UnaryOperator<HclValue> known = findKnown(from, to, trying);
            return known == null
                    ? null
                    : value -> {
                        if (to == Special.ANY) {
                            return value;
                        }
                        if (!value.isKnown()) {
                            return HclValue.unknown(filled(value.type(), to));
                        }
                        return value.isNull() ? HclValue.nullOf(filled(value.type(), to)) : known.apply(value);
                    };
        } finally {
            budget.leave();
        }
    }

    private @Nullable UnaryOperator<HclValue> findKnown(HclType from, HclType to, boolean trying) {
        if (to == Special.ANY) {
            return value -> value;
        }
        if (trying && from == Special.ANY) {
            return value -> convert(value, to);
        }
        if (from instanceof Primitive && to instanceof Primitive) {
            return primitive(from, to, trying);
        }
        return switch (to) {
            case ListOf(HclType element) -> toSequence(from, to, element, trying);
            case SetOf(HclType element) -> toSequence(from, to, element, trying);
            case MapOf(HclType element) -> toMap(from, element, trying);
            case ObjectOf(Map<String, HclType> wanted) -> toObject(from, wanted, trying);
            case TupleOf(List<HclType> wanted) -> toTuple(from, wanted, trying);
            case Primitive _, Special _ -> null;
        };
    }

    private static @Nullable UnaryOperator<HclValue> primitive(HclType from, HclType to, boolean trying) {
        if (to == Primitive.STRING) {
            return from == Primitive.NUMBER
                    ? value -> HclValue.of(value.number().text())
                    : from == Primitive.BOOL ? value -> HclValue.of(value.isTrue() ? "true" : "false") : null;
        }
        if (!trying || from != Primitive.STRING) {
            return null;
        }
        return to == Primitive.NUMBER
                ? value -> HclValue.of(HclNumber.parse(value.text())
                        .orElseThrow(() -> HclException.of("should be a number, not other text")))
                : value -> HclValue.of(bool(value.text()));
    }

    private static boolean bool(String text) {
        return switch (text) {
            case "true", "1" -> true;
            case "false", "0" -> false;
            default -> {
                String lower = text.toLowerCase(Locale.ROOT);
                throw HclException.of("should be a bool: true or false"
                        + (lower.equals("true") || lower.equals("false") ? ", in lower case" : ", not other text"));
            }
        };
    }

    private @Nullable UnaryOperator<HclValue> toSequence(HclType from, HclType to, HclType element, boolean trying) {
        boolean list = to instanceof ListOf;
        if (from instanceof TupleOf(List<HclType> given)) {
            return fromTuple(given, element, list, trying);
        }
        HclType given = from instanceof ListOf(HclType each) ? each : from instanceof SetOf(HclType each) ? each : null;
        if (given == null || (!list && from instanceof ListOf && !trying)) {
            return null;
        }
        UnaryOperator<HclValue> conversion = given.equals(element) ? each -> each : find(given, element, trying);
        return conversion == null
                ? null
                : value -> {
                    List<HclValue> elements = new ArrayList<>();
                    value.elements().forEach(each -> elements.add(conversion.apply(each)));
                    if (elements.isEmpty()) {
                        HclType known = element == Special.ANY ? given : element;
                        return HclValue.empty(list ? new ListOf(known) : new SetOf(known));
                    }
                    return sequence(elements, list);
                };
    }

    private HclValue sequence(List<HclValue> elements, boolean list) {
        budget.steps(elements.size());
        HclValue made = list ? HclValue.list(elements) : HclValue.set(elements, budget);
        if (made == null) {
            throw notOneType();
        }
        return made;
    }

    static HclException notOneType() {
        return HclException.of("should have elements that are all of one type");
    }

    private @Nullable UnaryOperator<HclValue> fromTuple(
            List<HclType> given, HclType wanted, boolean list, boolean trying) {
        if (given.isEmpty()) {
            return _ -> HclValue.empty(list ? new ListOf(wanted) : new SetOf(wanted));
        }
        HclType element = wanted;
        if (wanted == Special.ANY) {
            Unification unified = Unification.of(given, trying, this);
            if (unified == null
                    || (unified.type() == Special.ANY && given.stream().anyMatch(each -> each != Special.ANY))) {
                return null;
            }
            element = unified.type();
        }
        // Long lists have few types.
        Map<HclType, UnaryOperator<HclValue>> conversions = new HashMap<>();
        for (HclType each : given) {
            UnaryOperator<HclValue> conversion = conversions.containsKey(each) || each.equals(element)
                    ? value -> value
                    : find(each, element, trying);
            if (conversion == null) {
                return null;
            }
            conversions.putIfAbsent(each, conversion);
        }
        return value -> {
            List<HclValue> elements = new ArrayList<>();
            for (HclValue each : value.elements()) {
                elements.add(conversions.getOrDefault(each.type(), same -> same).apply(each));
            }
            return sequence(list ? unified(elements, trying) : elements, list);
        };
    }

    /** What was converted to "a list of anything" may have become lists of different things. */
    private List<HclValue> unified(List<HclValue> elements, boolean trying) {
        Unification unified =
                Unification.of(elements.stream().map(HclValue::type).toList(), trying, this);
        if (unified == null) {
            throw notOneType();
        }
        return elements.stream()
                .map(each -> each.type().equals(unified.type()) ? each : between(each, unified.type(), trying))
                .toList();
    }

    private HclValue between(HclValue value, HclType wanted, boolean trying) {
        UnaryOperator<HclValue> conversion = find(value.type(), wanted, trying);
        if (conversion == null) {
            throw notOneType();
        }
        return conversion.apply(value);
    }

    private @Nullable UnaryOperator<HclValue> toMap(HclType from, HclType element, boolean trying) {
        if (from instanceof MapOf(HclType given)) {
            UnaryOperator<HclValue> conversion = find(given, element, trying);
            return conversion == null
                    ? null
                    : value -> {
                        Map<String, HclValue> elements = new LinkedHashMap<>();
                        value.entries().forEach((key, each) -> elements.put(key, conversion.apply(each)));
                        if (elements.isEmpty()) {
                            return HclValue.empty(new MapOf(element == Special.ANY ? given : element));
                        }
                        return mapOf(elements, element, false);
                    };
        }
        return from instanceof ObjectOf(Map<String, HclType> attributes)
                ? fromObject(attributes, element, trying)
                : null;
    }

    private @Nullable UnaryOperator<HclValue> fromObject(Map<String, HclType> given, HclType wanted, boolean trying) {
        if (given.isEmpty()) {
            return _ -> HclValue.empty(new MapOf(wanted));
        }
        Unification unified = wanted == Special.ANY ? Unification.of(List.copyOf(given.values()), trying, this) : null;
        if (wanted == Special.ANY && unified == null) {
            return null;
        }
        HclType element = unified == null ? wanted : unified.type();
        Map<String, UnaryOperator<HclValue>> conversions = new HashMap<>();
        for (Map.Entry<String, HclType> each : given.entrySet()) {
            UnaryOperator<HclValue> conversion =
                    each.getValue().equals(element) ? value -> value : find(each.getValue(), element, trying);
            if (conversion == null) {
                return null;
            }
            conversions.put(each.getKey(), conversion);
        }
        return value -> {
            Map<String, HclValue> elements = new LinkedHashMap<>();
            value.entries()
                    .forEach((key, each) -> elements.put(
                            key, conversions.getOrDefault(key, same -> same).apply(each)));
            return mapOf(elements, element, trying);
        };
    }

    private HclValue mapOf(Map<String, HclValue> elements, HclType element, boolean trying) {
        Map<String, HclValue> same = new LinkedHashMap<>(elements);
        if (element instanceof HclType.Collection || element instanceof ObjectOf) {
            Unification unified = Unification.of(
                    elements.values().stream().map(HclValue::type).toList(), trying, this);
            if (unified == null) {
                throw notOneType();
            }
            same.replaceAll(
                    (_, each) -> each.type().equals(unified.type()) ? each : between(each, unified.type(), trying));
        }
        HclValue made = HclValue.map(same);
        if (made == null) {
            throw notOneType();
        }
        return made;
    }

    private @Nullable UnaryOperator<HclValue> toObject(HclType from, Map<String, HclType> wanted, boolean trying) {
        boolean map = from instanceof MapOf;
        if (!(from instanceof ObjectOf) && !(map && trying)) {
            return null;
        }
        Map<String, UnaryOperator<HclValue>> conversions = new HashMap<>();
        for (Map.Entry<String, HclType> each : wanted.entrySet()) {
            HclType given = from instanceof ObjectOf(Map<String, HclType> attributes)
                    ? attributes.get(each.getKey())
                    : ((MapOf) from).element();
            UnaryOperator<HclValue> conversion = given == null
                    ? null
                    : given.equals(each.getValue()) ? value -> value : find(given, each.getValue(), trying);
            if (conversion == null) {
                return null;
            }
            conversions.put(each.getKey(), conversion);
        }
        return value -> {
            Map<String, HclValue> attributes = new LinkedHashMap<>();
            value.entries().forEach((name, each) -> {
                UnaryOperator<HclValue> conversion = conversions.get(name);
                if (conversion != null) {
                    attributes.put(name, conversion.apply(each));
                }
            });
            for (String name : wanted.keySet()) {
                if (!attributes.containsKey(name)) {
                    throw HclException.of("lacks a value that is required");
                }
            }
            return HclValue.object(attributes);
        };
    }

    private @Nullable UnaryOperator<HclValue> toTuple(HclType from, List<HclType> wanted, boolean trying) {
        if (!(from instanceof TupleOf(List<HclType> given)) || given.size() != wanted.size()) {
            return null;
        }
        List<UnaryOperator<HclValue>> conversions = new ArrayList<>();
        for (int i = 0; i < wanted.size(); i++) {
            UnaryOperator<HclValue> conversion =
                    given.get(i).equals(wanted.get(i)) ? value -> value : find(given.get(i), wanted.get(i), trying);
            if (conversion == null) {
                return null;
            }
            conversions.add(conversion);
        }
        return value -> {
            List<HclValue> elements = value.elements();
            List<HclValue> converted = new ArrayList<>();
            for (int i = 0; i < elements.size(); i++) {
                converted.add(conversions.get(i).apply(elements.get(i)));
            }
            return HclValue.tuple(converted);
        };
    }

    /** The wanted type, with what the given one knows in place of what it leaves open: the type of a converted null. */
    private HclType filled(HclType given, HclType wanted) {
        if (given == Special.ANY) {
            return wanted;
        }
        return switch (wanted) {
            case Special.ANY -> given;
            case Primitive _, Special _ -> wanted;
            case HclType.Collection collection -> {
                HclType element = element(given, collection instanceof MapOf);
                yield element == null ? wanted : collection.of(filled(element, collection.element()));
            }
            case ObjectOf(Map<String, HclType> attributes) -> {
                Map<String, HclType> types = new TreeMap<>(HclType.TEXT_ORDER);
                attributes.forEach((name, type) -> {
                    HclType known = given instanceof MapOf(HclType element)
                            ? element
                            : given instanceof ObjectOf(Map<String, HclType> others) ? others.get(name) : null;
                    types.put(name, known == null ? type : filled(known, type));
                });
                yield new ObjectOf(types);
            }
            case TupleOf(List<HclType> elements) -> {
                List<HclType> types = new ArrayList<>(elements);
                if (given instanceof TupleOf(List<HclType> others) && others.size() == types.size()) {
                    for (int i = 0; i < types.size(); i++) {
                        types.set(i, filled(others.get(i), types.get(i)));
                    }
                }
                yield new TupleOf(types);
            }
        };
    }

    /** Null when such a collection can't be made of it; any, when its parts have no common type. */
    private @Nullable HclType element(HclType given, boolean map) {
        return switch (given) {
            case MapOf(HclType element) -> map ? element : null;
            case ObjectOf(Map<String, HclType> attributes) -> map ? common(List.copyOf(attributes.values())) : null;
            case ListOf(HclType element) -> map ? null : element;
            case SetOf(HclType element) -> map ? null : element;
            case TupleOf(List<HclType> elements) -> map ? null : common(elements);
            case Primitive _, Special _ -> null;
        };
    }

    private HclType common(List<HclType> types) {
        Unification unified = Unification.of(types, true, this);
        return unified == null ? Special.ANY : unified.type();
    }
}
