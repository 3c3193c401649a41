package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.language.HclException;
import io.homeostat.desired.hcl.language.HclExpressions;
import io.homeostat.desired.hcl.language.HclNumber;
import io.homeostat.desired.hcl.language.HclType;
import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import io.homeostat.desired.hcl.language.HclValue;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the values of attributes: evaluates the templates in them and gives them the type that is wanted. */
final class ConfigValues {
    /** Lists and maps within each other. */
    private static final int DEEPEST = 100;

    private final HclExpressions expressions;
    private final Problems problems;
    private boolean gaveUp;

    ConfigValues(HclExpressions expressions, Problems problems) {
        this.expressions = expressions;
        this.problems = problems;
    }

    /** A value with its parts, of which each stands somewhere in the configuration. */
    private record Read(Located located, HclValue value, List<Read> elements, Map<String, Read> attributes) {
        static Read of(Located located, HclValue value) {
            return new Read(located, value, List.of(), Map.of());
        }

        boolean isGood() {
            return value.isWhollyKnown();
        }
    }

    /** A value of this type, which is not known after a problem. */
    HclValue read(Located located, HclType wanted) {
        Read read = value(located, 0);
        if (!read.isGood()) {
            return HclValue.unknown(wanted);
        }
        try {
            return expressions.conversions().convert(read.value(), wanted);
        } catch (HclException e) {
            explain(read, wanted, e);
            return HclValue.unknown(wanted);
        }
    }

    private Read value(Located located, int depth) {
        if (depth > DEEPEST) {
            return unknown(located, "is nested more than " + DEEPEST + " levels deep: write it simpler");
        }
        return switch (located.config()) {
            case null -> Read.of(located, HclValue.NULL);
            case String text -> template(located, text);
            case Boolean value -> Read.of(located, HclValue.of(value));
            case Number number -> number(located, number);
            case List<?> list -> list(located, list, depth);
            case Map<?, ?> map -> map(located, map, depth);
            default -> unknown(located, "should be text, a number, a bool, a list or a map");
        };
    }

    private Read unknown(Located located, String what) {
        problems.add(located.path(), what);
        return Read.of(located, HclValue.unknown(HclType.Special.ANY));
    }

    private Read template(Located located, String text) {
        if (gaveUp) {
            return Read.of(located, HclValue.unknown(HclType.Special.ANY));
        }
        try {
            return Read.of(located, expressions.template(text));
        } catch (HclException e) {
            gaveUp = e.isLimit();
            return unknown(located, e.getMessage());
        }
    }

    private Read number(Located located, Number number) {
        if (number instanceof Double value && !Double.isFinite(value)) {
            return unknown(located, "should be a finite number");
        }
        try {
            return HclNumber.parse(number instanceof Double value ? shortest(value) : number.toString())
                    .map(each -> Read.of(located, HclValue.of(each)))
                    .orElseGet(() -> unknown(located, "should be a decimal number"));
        } catch (HclException e) {
            return unknown(located, e.getMessage());
        }
    }

    /** Java writes at least two digits, even where one would do. */
    private static String shortest(double value) {
        String written = Double.toString(value);
        BigDecimal digit = new BigDecimal(written).round(new MathContext(1, RoundingMode.HALF_EVEN));
        return value != 0 && digit.doubleValue() == value ? digit.toString() : written;
    }

    private Read list(Located located, List<?> list, int depth) {
        List<Read> elements = new ArrayList<>();
        for (int i = 0; i < list.size(); i++) {
            elements.add(value(located.below(i, list.get(i)), depth + 1));
        }
        HclValue value = HclValue.tuple(elements.stream().map(Read::value).toList());
        return new Read(located, value, elements, Map.of());
    }

    private Read map(Located located, Map<?, ?> map, int depth) {
        Map<String, Read> attributes = new LinkedHashMap<>();
        boolean good = true;
        for (Map.Entry<?, ?> each : map.entrySet()) {
            String written = String.valueOf(each.getKey());
            Read key = key(located.below(written, written));
            Read value = value(located.below(written, each.getValue()), depth + 1);
            if (!key.isGood()) {
                good = false;
            } else if (attributes.putIfAbsent(key.value().text(), value) != null) {
                problems.add(value.located().path(), "is the same key as another one: leave one out");
                good = false;
            }
        }
        Map<String, HclValue> values = new LinkedHashMap<>();
        attributes.forEach((name, read) -> values.put(name, read.value()));
        HclValue object = good ? HclValue.object(values) : HclValue.unknown(HclType.Special.ANY);
        return new Read(located, object, List.of(), attributes);
    }

    /** Keys within values are templates, too. */
    private Read key(Located located) {
        Read key = template(located, String.valueOf(located.config()));
        if (!key.isGood()) {
            return key;
        }
        if (key.value().isNull()) {
            return unknown(located, "is null as a key");
        }
        try {
            return Read.of(located, expressions.conversions().convert(key.value(), Primitive.STRING));
        } catch (HclException e) {
            return unknown(located, "is no key: it " + e.getMessage());
        }
    }

    /** Names each part that has the wrong type, rather than the whole. */
    private void explain(Read read, HclType wanted, HclException cause) {
        gaveUp |= cause.isLimit();
        List<Object> path = read.located().path();
        boolean list = read.located().config() instanceof List<?>;
        boolean map = read.located().config() instanceof Map<?, ?>;
        boolean explained = false;
        switch (wanted) {
            case ListOf(HclType element) when list -> explained = explainAll(read.elements(), element);
            case SetOf(HclType element) when list -> explained = explainAll(read.elements(), element);
            case MapOf(HclType element)
            when map -> explained = explainAll(List.copyOf(read.attributes().values()), element);
            case TupleOf(List<HclType> elements)
            when list -> {
                if (elements.size() != read.elements().size()) {
                    problems.add(path, "should be a list of " + elements.size() + " elements");
                    return;
                }
                for (int i = 0; i < elements.size(); i++) {
                    explained |= explainAll(List.of(read.elements().get(i)), elements.get(i));
                }
            }
            case ObjectOf(Map<String, HclType> attributes)
            when map -> {
                for (Map.Entry<String, HclType> each : attributes.entrySet()) {
                    Read attribute = read.attributes().get(each.getKey());
                    if (attribute == null) {
                        problems.add(path, "lacks \"" + each.getKey() + "\", which is required");
                        explained = true;
                    } else {
                        explained |= explainAll(List.of(attribute), each.getValue());
                    }
                }
            }
            default -> {
                problems.add(path, cause.getMessage());
                return;
            }
        }
        if (!explained) {
            problems.add(path, "should have elements that are all of one type");
        }
    }

    private boolean explainAll(List<Read> parts, HclType wanted) {
        boolean explained = false;
        for (Read each : parts) {
            try {
                expressions.conversions().convert(each.value(), wanted);
            } catch (HclException e) {
                explain(each, wanted, e);
                explained = true;
            }
        }
        return explained;
    }
}
