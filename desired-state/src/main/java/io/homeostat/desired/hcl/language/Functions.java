package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclFunction.Accepted;
import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;

/** The functions that Nomad offers to the configuration of a task, and to the literals of a driver's spec. */
final class Functions {
    private final Conversions conversions;
    private final Budget budget;

    private Functions(Conversions conversions) {
        this.conversions = conversions;
        this.budget = conversions.budget();
    }

    static Map<String, HclFunction> all(Conversions conversions) {
        Functions functions = new Functions(conversions);
        Map<String, HclFunction> all = new LinkedHashMap<>();
        List<HclType> number = List.of(Primitive.NUMBER);
        List<HclType> string = List.of(Primitive.STRING);
        List<HclType> any = List.of(Special.ANY);
        all.put(
                "abs",
                HclFunction.of(
                        number,
                        Primitive.NUMBER,
                        each -> HclValue.of(first(each).number().absolute())));
        all.put("coalesce", functions.coalesce());
        all.put("concat", functions.concat());
        all.put(
                "hasindex",
                new HclFunction(
                        List.of(Special.ANY, Special.ANY),
                        null,
                        EnumSet.of(Accepted.UNTYPED),
                        Functions::indexed,
                        Functions::hasIndex));
        all.put("int", HclFunction.of(number, Primitive.NUMBER, Functions::truncated));
        all.put(
                "jsondecode",
                new HclFunction(
                        string,
                        null,
                        EnumSet.noneOf(Accepted.class),
                        _ -> Special.ANY,
                        each -> HclJson.decode(first(each).text(), functions.budget)));
        all.put(
                "jsonencode",
                new HclFunction(any, null, EnumSet.allOf(Accepted.class), _ -> Primitive.STRING, functions::encode));
        all.put(
                "length",
                new HclFunction(
                        any,
                        null,
                        EnumSet.of(Accepted.UNTYPED, Accepted.UNKNOWN),
                        Functions::counted,
                        Functions::length));
        all.put(
                "lower",
                HclFunction.of(
                        string, Primitive.STRING, each -> functions.mapped(first(each), Character::toLowerCase)));
        all.put("max", functions.extreme(1));
        all.put("min", functions.extreme(-1));
        all.put("reverse", HclFunction.of(string, Primitive.STRING, functions::reverse));
        all.put(
                "strlen",
                HclFunction.of(
                        string,
                        Primitive.NUMBER,
                        each -> HclValue.count(
                                HclText.characters(first(each).text()).size())));
        all.put(
                "substr",
                HclFunction.of(
                        List.of(Primitive.STRING, Primitive.NUMBER, Primitive.NUMBER),
                        Primitive.STRING,
                        functions::substr));
        all.put(
                "upper",
                HclFunction.of(
                        string, Primitive.STRING, each -> functions.mapped(first(each), Character::toUpperCase)));
        return all;
    }

    private static HclValue first(List<HclValue> arguments) {
        return arguments.getFirst();
    }

    private HclValue text(String text) {
        budget.write(text.length());
        return HclValue.of(text);
    }

    private HclValue mapped(HclValue value, IntUnaryOperator change) {
        StringBuilder changed = new StringBuilder();
        value.text().codePoints().map(change).forEach(changed::appendCodePoint);
        return text(changed.toString());
    }

    private HclValue reverse(List<HclValue> arguments) {
        return text(String.join("", HclText.characters(first(arguments).text()).reversed()));
    }

    private HclValue substr(List<HclValue> arguments) {
        List<String> characters = HclText.characters(first(arguments).text());
        long offset = whole(arguments.get(1));
        long length = whole(arguments.get(2));
        if (offset >= 0 && length == 0) {
            return HclValue.of("");
        }
        long from = offset < 0 ? Math.max(0, offset + characters.size()) : Math.min(offset, characters.size());
        // A length of 0 after a negative offset means the rest; that is how Nomad's function counts.
        long to = length <= 0 ? characters.size() : Math.min(characters.size(), from + length);
        return text(String.join("", characters.subList((int) from, (int) to)));
    }

    private static long whole(HclValue value) {
        long whole = value.number().exactLong().orElseThrow(() -> HclException.of("takes whole numbers only"));
        return Math.clamp(whole, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    private static HclValue truncated(List<HclValue> arguments) {
        HclNumber number = first(arguments).number();
        if (number.isInfinite()) {
            throw HclException.of("does not take infinity");
        }
        return HclValue.of(number.truncated());
    }

    private HclFunction extreme(int sign) {
        return new HclFunction(
                List.of(),
                Primitive.NUMBER,
                EnumSet.of(Accepted.UNTYPED),
                _ -> Primitive.NUMBER,
                arguments -> HclValue.of(arguments.stream()
                        .map(HclValue::number)
                        .reduce((a, b) -> b.compare(a) * sign > 0 ? b : a)
                        .orElseThrow(() -> HclException.of("takes at least one number"))));
    }

    private HclFunction coalesce() {
        return new HclFunction(List.of(), Special.ANY, EnumSet.allOf(Accepted.class), this::common, arguments -> {
            for (HclValue each : arguments) {
                if (!each.isKnown()) {
                    return HclValue.unknown(common(arguments));
                }
                if (!each.isNull()) {
                    return conversions.convert(each, common(arguments));
                }
            }
            throw HclException.of("takes at least one value that is not null");
        });
    }

    private HclType common(List<HclValue> arguments) {
        Unification common =
                Unification.of(arguments.stream().map(HclValue::type).toList(), true, conversions);
        if (common == null) {
            throw HclException.of("takes values that have a type in common");
        }
        return common.type();
    }

    private HclFunction concat() {
        return new HclFunction(
                List.of(), Special.ANY, EnumSet.noneOf(Accepted.class), Functions::sequences, this::concatenated);
    }

    private static HclType sequences(List<HclValue> arguments) {
        boolean good = !arguments.isEmpty()
                && arguments.stream().allMatch(each -> each.type() instanceof ListOf || each.type() instanceof TupleOf);
        if (!good) {
            throw HclException.of("takes at least one list, and only lists");
        }
        return Special.ANY;
    }

    private HclValue concatenated(List<HclValue> arguments) {
        Unification common = arguments.stream().allMatch(each -> each.type() instanceof ListOf)
                ? Unification.of(arguments.stream().map(HclValue::type).toList(), true, conversions)
                : null;
        List<HclValue> elements = new ArrayList<>();
        for (HclValue each : arguments) {
            elements.addAll((common == null ? each : conversions.convert(each, common.type())).elements());
        }
        budget.steps(elements.size());
        if (common == null) {
            return HclValue.tuple(elements);
        }
        HclValue list = elements.isEmpty() ? HclValue.empty((ListOf) common.type()) : HclValue.list(elements);
        if (list == null) {
            throw Conversions.notOneType();
        }
        return list;
    }

    private static HclType indexed(List<HclValue> arguments) {
        HclType type = first(arguments).type();
        if (!(type instanceof TupleOf || type instanceof ListOf || type instanceof MapOf || type == Special.ANY)) {
            throw HclException.of("takes a list or a map");
        }
        return Primitive.BOOL;
    }

    private static HclValue hasIndex(List<HclValue> arguments) {
        HclValue collection = first(arguments);
        HclValue key = arguments.getLast();
        if (collection.type() instanceof MapOf) {
            return HclValue.of(
                    key.type() == Primitive.STRING && collection.entries().containsKey(key.text()));
        }
        long index = key.type() == Primitive.NUMBER ? key.number().exactLong().orElse(-1) : -1;
        return HclValue.of(index >= 0 && index < collection.size());
    }

    private static HclType counted(List<HclValue> arguments) {
        HclType type = first(arguments).type();
        if (!(type instanceof TupleOf || type instanceof HclType.Collection || type == Special.ANY)) {
            throw HclException.of("takes a list, a set or a map");
        }
        return Primitive.NUMBER;
    }

    private static HclValue length(List<HclValue> arguments) {
        HclValue collection = first(arguments);
        return collection.isKnown() || collection.type() instanceof TupleOf
                ? HclValue.count(collection.size())
                : HclValue.unknown(Primitive.NUMBER);
    }

    private HclValue encode(List<HclValue> arguments) {
        HclValue value = first(arguments);
        return value.isWhollyKnown() ? text(HclJson.encode(value)) : HclValue.unknown(Primitive.STRING);
    }

    /** In a type: {@code list(string)}. */
    static Map<String, HclFunction> ofTypes() {
        Map<String, HclFunction> all = new LinkedHashMap<>();
        all.put("list", ofType(Special.TYPE, each -> new ListOf(each.typeValue())));
        all.put("set", ofType(Special.TYPE, each -> new SetOf(each.typeValue())));
        all.put("map", ofType(Special.TYPE, each -> new MapOf(each.typeValue())));
        all.put(
                "tuple",
                ofType(
                        new ListOf(Special.TYPE),
                        each -> new TupleOf(each.elements().stream()
                                .map(HclValue::typeValue)
                                .toList())));
        all.put("object", ofType(new MapOf(Special.TYPE), each -> {
            Map<String, HclType> attributes = new LinkedHashMap<>();
            each.entries().forEach((name, type) -> attributes.put(name, type.typeValue()));
            return new HclType.ObjectOf(attributes);
        }));
        return all;
    }

    private static HclFunction ofType(HclType parameter, Function<HclValue, HclType> make) {
        return new HclFunction(
                List.of(parameter),
                null,
                EnumSet.noneOf(Accepted.class),
                _ -> Special.TYPE,
                arguments -> HclValue.of(make.apply(first(arguments))));
    }
}
