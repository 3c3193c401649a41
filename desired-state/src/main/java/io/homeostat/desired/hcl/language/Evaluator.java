package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Evaluates one expression. After a mistake it goes on with a value that isn't known, because a condition forgives mistakes in the
 * result that it does not choose.
 */
final class Evaluator {
    private final Map<String, HclFunction> functions;
    private final Conversions conversions;
    private final Operators operators;
    private final Budget budget;
    private final IdentityHashMap<Expression.Item, HclValue> items = new IdentityHashMap<>();
    private List<HclException> mistakes = new ArrayList<>();

    Evaluator(Map<String, HclFunction> functions, Conversions conversions) {
        this.functions = functions;
        this.conversions = conversions;
        this.operators = new Operators(conversions);
        this.budget = conversions.budget();
    }

    private record Scope(@Nullable Scope outer, String name, HclValue value) {
        static @Nullable HclValue find(@Nullable Scope innermost, String name) {
            for (Scope scope = innermost; scope != null; scope = scope.outer) {
                if (scope.name.equals(name)) {
                    return scope.value;
                }
            }
            return null;
        }
    }

    /**
     * @throws HclException the first mistake
     */
    HclValue evaluate(Expression expression, Map<String, HclValue> variables) {
        Scope scope = null;
        for (Map.Entry<String, HclValue> each : variables.entrySet()) {
            scope = new Scope(scope, each.getKey(), each.getValue());
        }
        HclValue value = value(expression, scope);
        if (!mistakes.isEmpty()) {
            throw mistakes.getFirst();
        }
        return value;
    }

    private HclValue mistake(String message) {
        return mistake(HclException.of(message));
    }

    private HclValue mistake(HclException mistake) {
        if (mistake.isLimit()) {
            throw mistake;
        }
        mistakes.add(mistake);
        return HclValue.DYNAMIC;
    }

    private HclValue value(Expression expression, @Nullable Scope scope) {
        budget.step();
        budget.enter();
        try {
            return switch (expression) {
                case Expression.Literal(HclValue value, String _) -> value;
                case Expression.Variable(String name) -> variable(name, scope);
                case Expression.Attribute(Expression source, String name) -> attribute(value(source, scope), name);
                case Expression.Index(Expression source, Expression key) -> {
                    HclValue collection = value(source, scope);
                    yield index(collection, value(key, scope));
                }
                case Expression.Call call -> call(call, scope);
                case Expression.Conditional conditional -> conditional(conditional, scope);
                case Expression.Unary(Expression.Operator operator, Expression operand) ->
                    operate(operator, List.of(operand), scope);
                case Expression.Binary(Expression.Operator operator, Expression left, Expression right) ->
                    operate(operator, List.of(left, right), scope);
                case Expression.Tuple(List<Expression> elements) -> tuple(elements, scope);
                case Expression.ObjectOf(List<Expression.ObjectOf.Entry> parts) -> object(parts, scope);
                case Expression.PathAsKey _ ->
                    mistake(
                            "has a key with a dot or index: put it in quotes, or in parentheses when it is a reference");
                case Expression.For loop -> loop(loop, scope);
                case Expression.Splat splat -> splat(splat, scope);
                case Expression.Item item -> items.getOrDefault(item, HclValue.DYNAMIC);
                case Expression.Template(List<Expression> parts) -> template(parts, scope);
                case Expression.Join(Expression tuple) -> join(value(tuple, scope));
            };
        } finally {
            budget.leave();
        }
    }

    private HclValue variable(String name, @Nullable Scope scope) {
        HclValue found = Scope.find(scope, name);
        return found == null
                ? mistake("has a name that stands for nothing here; to mean the characters \"${\", write \"$${\"")
                : found;
    }

    private HclValue attribute(HclValue source, String name) {
        if (source.isNull()) {
            return mistake("takes an attribute of null");
        }
        return switch (source.type()) {
            case ObjectOf(Map<String, HclType> attributes) -> {
                HclType type = attributes.get(name);
                yield type == null
                        ? mistake("takes an attribute that the object does not have")
                        : source.isKnown() ? entry(source, name) : HclValue.unknown(type);
            }
            case MapOf(HclType element) -> source.isKnown() ? entry(source, name) : HclValue.unknown(element);
            case Special.ANY -> HclValue.DYNAMIC;
            default -> mistake("takes an attribute of what is neither an object nor a map");
        };
    }

    private HclValue entry(HclValue source, String key) {
        HclValue found = source.entries().get(key);
        return found == null ? mistake("takes an element that the map does not have") : found;
    }

    private HclValue index(HclValue source, HclValue key) {
        if (source.isNull() || key.isNull()) {
            return mistake(source.isNull() ? "takes an element of null" : "takes the element with the index null");
        }
        if (source.type() == Special.ANY || key.type() == Special.ANY) {
            return HclValue.DYNAMIC;
        }
        return switch (source.type()) {
            case ListOf(HclType element) -> {
                HclValue number = converted(key, Primitive.NUMBER);
                yield source.isKnown() && number.isKnown()
                        ? element(source, number.number())
                        : HclValue.unknown(element);
            }
            case TupleOf _ -> {
                HclValue number = converted(key, Primitive.NUMBER);
                yield source.isKnown() && number.isKnown() ? element(source, number.number()) : HclValue.DYNAMIC;
            }
            case MapOf(HclType element) -> {
                HclValue text = converted(key, Primitive.STRING);
                yield source.isKnown() && text.isKnown() ? entry(source, text.text()) : HclValue.unknown(element);
            }
            case ObjectOf _ -> {
                HclValue text = converted(key, Primitive.STRING);
                yield source.isKnown() && text.isKnown() ? entry(source, text.text()) : HclValue.DYNAMIC;
            }
            default -> mistake("takes an element of what has none with an index");
        };
    }

    private HclValue converted(HclValue value, HclType wanted) {
        try {
            return conversions.convert(value, wanted);
        } catch (HclException e) {
            return mistake(e);
        }
    }

    private HclValue element(HclValue source, HclNumber index) {
        List<HclValue> elements = source.elements();
        long position = index.exactLong().orElse(-1);
        return position < 0 || position >= elements.size()
                ? mistake("takes an element with an index that the list does not have")
                : elements.get((int) position);
    }

    private HclValue operate(Expression.Operator operator, List<Expression> operands, @Nullable Scope scope) {
        int before = mistakes.size();
        List<HclValue> values = new ArrayList<>();
        for (Expression each : operands) {
            values.add(value(each, scope));
        }
        List<HclValue> converted = new ArrayList<>();
        values.forEach(each -> converted.add(converted(each, Operators.operandType(operator))));
        HclType result = Operators.resultType(operator);
        if (mistakes.size() > before) {
            return HclValue.unknown(result);
        }
        try {
            return operators.apply(operator, converted);
        } catch (HclException e) {
            mistake(e);
            return HclValue.unknown(result);
        }
    }

    private HclValue call(Expression.Call call, @Nullable Scope scope) {
        HclFunction function = functions.get(call.name());
        if (function == null) {
            return mistake("calls a function that does not exist; there are " + String.join(", ", functions.keySet()));
        }
        int before = mistakes.size();
        List<HclValue> arguments = new ArrayList<>();
        for (int i = 0; i < call.arguments().size(); i++) {
            HclValue value = value(call.arguments().get(i), scope);
            if (!call.expandsLast() || i < call.arguments().size() - 1) {
                arguments.add(value);
            } else if (value.isNull() || (value.type() != Special.ANY && !value.isSequence())) {
                return mistake("has \"...\" after what is not a list");
            } else if (!value.isKnown()) {
                return HclValue.DYNAMIC;
            } else {
                arguments.addAll(value.elements());
            }
        }
        if (!function.takes(arguments.size())) {
            return mistake("calls the function " + call.name() + " with " + arguments.size() + " arguments; it takes "
                    + function.arity());
        }
        List<HclValue> converted = new ArrayList<>();
        for (int i = 0; i < arguments.size(); i++) {
            converted.add(converted(arguments.get(i), function.parameter(i)));
        }
        if (mistakes.size() > before) {
            return HclValue.DYNAMIC;
        }
        try {
            return function.call(converted);
        } catch (HclException e) {
            return mistake(
                    e.isLimit()
                            ? e
                            : HclException.of("calls the function " + call.name() + ", which " + e.getMessage()));
        }
    }

    private HclValue conditional(Expression.Conditional conditional, @Nullable Scope scope) {
        List<HclException> outer = mistakes;
        List<HclException> trueMistakes = new ArrayList<>();
        List<HclException> falseMistakes = new ArrayList<>();
        mistakes = trueMistakes;
        HclValue ifTrue = value(conditional.ifTrue(), scope);
        mistakes = falseMistakes;
        HclValue ifFalse = value(conditional.ifFalse(), scope);
        mistakes = outer;

        Unification common;
        if (ifTrue.equals(HclValue.NULL)) {
            common = new Unification(
                    ifFalse.type(), Map.of(Special.ANY, each -> conversions.convert(each, ifFalse.type())));
        } else if (ifFalse.equals(HclValue.NULL)) {
            common = new Unification(
                    ifTrue.type(), Map.of(Special.ANY, each -> conversions.convert(each, ifTrue.type())));
        } else if (ifTrue.type() == Special.ANY || ifFalse.type() == Special.ANY) {
            common = new Unification(Special.ANY, Map.of());
        } else {
            common = Unification.of(List.of(ifTrue.type(), ifFalse.type()), true, conversions);
        }
        if (common == null) {
            return mistake("has a condition whose two results have no type in common");
        }
        HclValue condition = value(conditional.condition(), scope);
        if (condition.isNull()) {
            mistake("has a condition that is null");
            return HclValue.unknown(common.type());
        }
        if (!condition.isKnown()) {
            return HclValue.unknown(common.type());
        }
        HclValue chosen = converted(condition, Primitive.BOOL);
        if (!chosen.isKnown()) {
            return HclValue.unknown(common.type());
        }
        mistakes.addAll(chosen.isTrue() ? trueMistakes : falseMistakes);
        try {
            return common.convert(chosen.isTrue() ? ifTrue : ifFalse);
        } catch (HclException e) {
            mistake(e);
            return HclValue.unknown(common.type());
        }
    }

    private HclValue tuple(List<Expression> elements, @Nullable Scope scope) {
        List<HclValue> values = new ArrayList<>();
        for (Expression each : elements) {
            values.add(value(each, scope));
        }
        return HclValue.tuple(values);
    }

    private HclValue object(List<Expression.ObjectOf.Entry> parts, @Nullable Scope scope) {
        Map<String, HclValue> attributes = new LinkedHashMap<>();
        boolean known = true;
        for (Expression.ObjectOf.Entry each : parts) {
            int before = mistakes.size();
            HclValue key = value(each.key(), scope);
            boolean good = mistakes.size() == before;
            HclValue value = value(each.value(), scope);
            if (good && key.isNull()) {
                mistake("has null as a key");
                good = false;
            }
            HclValue text = good ? converted(key, Primitive.STRING) : HclValue.DYNAMIC;
            if (text.isKnown()) {
                attributes.put(text.text(), value);
            } else {
                known = false;
            }
        }
        return known ? HclValue.object(attributes) : HclValue.DYNAMIC;
    }

    private HclValue loop(Expression.For loop, @Nullable Scope scope) {
        HclValue collection = value(loop.collection(), scope);
        if (collection.isNull()) {
            return mistake("has a \"for\" over null");
        }
        if (collection.type() == Special.ANY) {
            return HclValue.DYNAMIC;
        }
        if (!collection.canIterate()) {
            return mistake("has a \"for\" over what is neither a list nor a map");
        }
        if (!collection.isKnown()) {
            return HclValue.DYNAMIC;
        }
        // The condition has to make sense even when there is nothing to go through.
        if (loop.condition() != null) {
            int before = mistakes.size();
            if (included(loop.condition(), within(loop, scope, HclValue.DYNAMIC, HclValue.DYNAMIC)) == null
                    || mistakes.size() > before) {
                return HclValue.DYNAMIC;
            }
        }
        Loop result = new Loop(loop);
        boolean map = collection.type() instanceof MapOf || collection.type() instanceof ObjectOf;
        List<String> keys = map ? List.copyOf(collection.entries().keySet()) : List.of();
        List<HclValue> elements = collection.elements();
        for (int i = 0; i < elements.size(); i++) {
            HclValue key = map
                    ? HclValue.of(keys.get(i))
                    : collection.type() instanceof SetOf ? elements.get(i) : HclValue.count(i);
            result.add(within(loop, scope, key, elements.get(i)));
        }
        return result.value();
    }

    private static Scope within(Expression.For loop, @Nullable Scope scope, HclValue key, HclValue value) {
        Scope outer = loop.keyName() == null ? scope : new Scope(scope, loop.keyName(), key);
        return new Scope(outer, loop.valueName(), value);
    }

    /** Null after a mistake. */
    private @Nullable HclValue included(Expression condition, Scope scope) {
        HclValue value = value(condition, scope);
        if (value.isNull()) {
            mistake("has an \"if\" of a \"for\" that is null");
            return null;
        }
        int before = mistakes.size();
        HclValue included = converted(value, Primitive.BOOL);
        return mistakes.size() > before ? null : included;
    }

    /** What a loop has made so far. */
    private final class Loop {
        private final Expression.For loop;
        private final List<HclValue> elements = new ArrayList<>();
        private final Map<String, List<HclValue>> groups = new LinkedHashMap<>();
        private boolean known = true;

        private Loop(Expression.For loop) {
            this.loop = loop;
        }

        private void add(Scope scope) {
            if (loop.condition() != null) {
                HclValue included = included(loop.condition(), scope);
                if (included == null || !included.isKnown()) {
                    known = false;
                    return;
                }
                if (!included.isTrue()) {
                    return;
                }
            }
            if (loop.key() == null) {
                elements.add(Evaluator.this.value(loop.value(), scope));
                return;
            }
            HclValue key = Evaluator.this.value(loop.key(), scope);
            if (key.isNull()) {
                mistake("has a \"for\" with null as a key");
            }
            HclValue text = key.isNull() || !key.isKnown() ? HclValue.DYNAMIC : converted(key, Primitive.STRING);
            if (!text.isKnown()) {
                known = false;
                return;
            }
            HclValue value = Evaluator.this.value(loop.value(), scope);
            List<HclValue> group = groups.computeIfAbsent(text.text(), _ -> new ArrayList<>());
            if (!group.isEmpty() && !loop.groups()) {
                mistake("has a \"for\" that makes a key twice: write \"...\" after the value to group by key");
            } else {
                group.add(value);
            }
        }

        private HclValue value() {
            if (!known) {
                return HclValue.DYNAMIC;
            }
            if (loop.key() == null) {
                return HclValue.tuple(elements);
            }
            Map<String, HclValue> attributes = new LinkedHashMap<>();
            groups.forEach(
                    (key, group) -> attributes.put(key, loop.groups() ? HclValue.tuple(group) : group.getFirst()));
            return HclValue.object(attributes);
        }
    }

    private HclValue splat(Expression.Splat splat, @Nullable Scope scope) {
        int before = mistakes.size();
        HclValue source = value(splat.source(), scope);
        if (mistakes.size() > before) {
            return HclValue.DYNAMIC;
        }
        boolean sequence = source.isSequence();
        if (source.isNull()) {
            return sequence ? mistake("has a \"*\" after a list that is null") : HclValue.tuple(List.of());
        }
        if (source.type() == Special.ANY) {
            return HclValue.DYNAMIC;
        }
        HclValue from = sequence ? source : HclValue.tuple(List.of(source));
        if (!from.isKnown()) {
            return HclValue.unknown(resultType(splat, scope, from.type()));
        }
        List<HclValue> results = new ArrayList<>();
        from.elements().forEach(each -> results.add(each(splat, scope, each)));
        if (mistakes.size() > before) {
            return HclValue.unknown(resultType(splat, scope, from.type()));
        }
        if (from.type() instanceof TupleOf) {
            return HclValue.tuple(results);
        }
        if (results.isEmpty()) {
            return HclValue.empty((ListOf) resultType(splat, scope, from.type()));
        }
        HclValue list = HclValue.list(results);
        return list == null ? mistake(Conversions.notOneType()) : list;
    }

    /** What a splat makes of a list or tuple, as far as can be told without its elements. */
    private HclType resultType(Expression.Splat splat, @Nullable Scope scope, HclType from) {
        List<HclException> outer = mistakes;
        mistakes = new ArrayList<>();
        try {
            if (from instanceof HclType.Collection collection) {
                return new ListOf(each(splat, scope, HclValue.unknown(collection.element()))
                        .type());
            }
            return new TupleOf(((TupleOf) from)
                    .elements().stream()
                            .map(each ->
                                    each(splat, scope, HclValue.unknown(each)).type())
                            .toList());
        } finally {
            mistakes = outer;
        }
    }

    private HclValue each(Expression.Splat splat, @Nullable Scope scope, HclValue element) {
        items.put(splat.item(), element);
        try {
            return value(splat.each(), scope);
        } finally {
            items.remove(splat.item());
        }
    }

    private HclValue template(List<Expression> parts, @Nullable Scope scope) {
        StringBuilder text = new StringBuilder();
        boolean known = true;
        for (Expression each : parts) {
            HclValue part = value(each, scope);
            if (part.isNull()) {
                mistake("puts null into text");
            } else if (!part.isKnown()) {
                known = false;
            } else {
                append(part, text);
            }
        }
        return known ? HclValue.of(text.toString()) : HclValue.unknown(Primitive.STRING);
    }

    private void append(HclValue part, StringBuilder text) {
        HclValue converted = converted(part, Primitive.STRING);
        if (converted.isKnown()) {
            budget.write(converted.text().length());
            text.append(converted.text());
        }
    }

    private HclValue join(HclValue tuple) {
        if (!tuple.isKnown()) {
            return HclValue.unknown(Primitive.STRING);
        }
        StringBuilder text = new StringBuilder();
        for (HclValue each : tuple.elements()) {
            if (each.isNull()) {
                mistake("puts null into text");
            } else if (!each.isKnown()) {
                return HclValue.unknown(Primitive.STRING);
            } else {
                append(each, text);
            }
        }
        return HclValue.of(text.toString());
    }
}
