package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.Special;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads expressions, templates and types: what is written becomes a value. One serves one conversion, and gives up when that costs too
 * much. Not thread-safe.
 */
public final class HclExpressions {
    private static final Map<String, HclValue> TYPES = Map.of(
            "string", HclValue.of(Primitive.STRING),
            "bool", HclValue.of(Primitive.BOOL),
            "number", HclValue.of(Primitive.NUMBER),
            "any", HclValue.of(Special.ANY));

    private final Budget budget = new Budget();
    private final Conversions conversions = new Conversions(budget);
    private final Map<String, HclFunction> functions = Functions.all(conversions);
    private final Map<String, HclValue> variables;

    /**
     * With variables.
     *
     * @param variables that expressions and templates may refer to
     */
    public HclExpressions(Map<String, HclValue> variables) {
        this.variables = Map.copyOf(variables);
    }

    public Conversions conversions() {
        return conversions;
    }

    /**
     * The value of an expression, such as {@code [1, "a"]}.
     *
     * @throws HclException when it is malformed, or can't be evaluated
     */
    public HclValue expression(String source) {
        return new Evaluator(functions, conversions).evaluate(HclParser.expression(source, budget), variables);
    }

    /**
     * The value of a template: text, or whatever a single <code>${...}</code> gives.
     *
     * @throws HclException when it is malformed, or can't be evaluated
     */
    public HclValue template(String source) {
        budget.step();
        boolean plain = source.indexOf("${") < 0 && source.indexOf("%{") < 0 && !source.startsWith("\uFEFF");
        return plain
                ? HclValue.of(source)
                : new Evaluator(functions, conversions).evaluate(HclParser.template(source, budget), variables);
    }

    /**
     * The type that an expression such as {@code list(string)} means.
     *
     * @throws HclException when it means none
     */
    public HclType type(String source) {
        HclValue value =
                new Evaluator(Functions.ofTypes(), conversions).evaluate(HclParser.expression(source, budget), TYPES);
        if (value.isNull()) {
            return Special.ANY;
        }
        if (value.type() != Special.TYPE || !value.isKnown()) {
            throw HclException.of("is not a type");
        }
        return value.typeValue();
    }

    /**
     * A set of elements.
     *
     * @return null when the elements have not all one type
     */
    public @Nullable HclValue set(List<HclValue> elements) {
        return HclValue.set(elements, budget);
    }

    /**
     * Gives values of several types the one type that all can have.
     *
     * @throws HclException when there is none
     */
    public List<HclValue> unified(List<HclValue> values) {
        Unification unified = Unification.of(values.stream().map(HclValue::type).toList(), true, conversions);
        if (unified == null) {
            throw Conversions.notOneType();
        }
        return values.stream().map(unified::convert).toList();
    }

    /** For people: as JSON, which may also be written in YAML. */
    public static String json(HclValue value) {
        return HclJson.encode(value);
    }
}
