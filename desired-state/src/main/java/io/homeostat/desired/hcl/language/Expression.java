package io.homeostat.desired.hcl.language;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** An expression that was parsed. */
sealed interface Expression {
    /**
     * A value that is written.
     *
     * @param keyword the word it was written as, which as a key of an object is only a word
     */
    record Literal(HclValue value, @Nullable String keyword) implements Expression {
        Literal(HclValue value) {
            this(value, null);
        }
    }

    record Variable(String name) implements Expression {}

    record Attribute(Expression source, String name) implements Expression {}

    record Index(Expression source, Expression key) implements Expression {}

    /**
     * A call of a function.
     *
     * @param name with its namespaces, divided by two colons
     */
    record Call(String name, List<Expression> arguments, boolean expandsLast) implements Expression {}

    record Conditional(Expression condition, Expression ifTrue, Expression ifFalse) implements Expression {}

    record Unary(Operator operator, Expression operand) implements Expression {}

    record Binary(Operator operator, Expression left, Expression right) implements Expression {}

    record Tuple(List<Expression> elements) implements Expression {}

    record ObjectOf(List<Entry> items) implements Expression {
        record Entry(Expression key, Expression value) {}
    }

    /** A key that is neither a word nor put in quotes or parentheses; a mistake only where it is evaluated. */
    record PathAsKey() implements Expression {}

    /**
     * Makes an element of each one of a collection.
     *
     * @param key null for a tuple
     */
    record For(
            @Nullable String keyName,
            String valueName,
            Expression collection,
            @Nullable Expression key,
            Expression value,
            @Nullable Expression condition,
            boolean groups)
            implements Expression {}

    /**
     * Takes the same of each element.
     *
     * @param each what is taken of an element, which is {@code item} in it
     */
    record Splat(Expression source, Expression each, Item item) implements Expression {}

    /** The element that a splat is at. */
    final class Item implements Expression {}

    /** Parts that become one text. */
    record Template(List<Expression> parts) implements Expression {}

    /** The texts of a loop in a template, as one. */
    record Join(Expression tuple) implements Expression {}

    enum Operator {
        OR("||", 0),
        AND("&&", 1),
        EQUAL("==", 2),
        NOT_EQUAL("!=", 2),
        GREATER(">", 3),
        GREATER_OR_EQUAL(">=", 3),
        LESS("<", 3),
        LESS_OR_EQUAL("<=", 3),
        ADD("+", 4),
        SUBTRACT("-", 4),
        MULTIPLY("*", 5),
        DIVIDE("/", 5),
        MODULO("%", 5),
        NOT("!", -1),
        NEGATE("-", -1);

        final String symbol;
        /** The higher, the tighter it binds; negative before one operand. */
        final int level;

        Operator(String symbol, int level) {
            this.symbol = symbol;
            this.level = level;
        }
    }
}
