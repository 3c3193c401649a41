package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.language.HclType;
import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import io.homeostat.desired.hcl.language.HclValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/** A part of a driver's schema, with all its types and literals understood. */
sealed interface SchemaNode {
    /** What takes the value of a key, or of several blocks under one key. */
    sealed interface Keyed extends SchemaNode {
        String name();
    }

    /** Keys whose values are bodies: objects, or lists of objects. */
    sealed interface Blocks extends Keyed {
        SchemaNode nested();

        default List<String> labels() {
            return List.of();
        }
    }

    /** An object of parts, all of which are read from the same body. */
    record Parts(Map<String, SchemaNode> attributes) implements SchemaNode {}

    record Sequence(List<SchemaNode> elements) implements SchemaNode {}

    record Attribute(String name, HclType type, boolean required) implements Keyed {}

    record Block(String name, SchemaNode nested, boolean required) implements Blocks {}

    /** A block of any keys, whose values have one type. */
    record AttributeBlock(String name, HclType element, boolean required) implements Keyed {}

    /**
     * Any number of blocks of one name.
     *
     * @param set otherwise a list
     */
    record BlockCollection(String name, SchemaNode nested, long least, long most, boolean set) implements Blocks {}

    /**
     * Blocks that each have their own keys.
     *
     * @param labels what the keys of each level are called
     */
    record BlockMap(String name, List<String> labels, SchemaNode nested) implements Blocks {}

    /** The first, or the second when that is null. */
    record Fallback(SchemaNode primary, SchemaNode otherwise) implements SchemaNode {}

    record Fixed(HclValue value) implements SchemaNode {}

    /** What this reads from its body, itself included. */
    default void forEachInBody(Consumer<Keyed> action) {
        switch (this) {
            case Keyed keyed -> action.accept(keyed);
            case Parts(Map<String, SchemaNode> attributes) ->
                attributes.values().forEach(each -> each.forEachInBody(action));
            case Sequence(List<SchemaNode> elements) -> elements.forEach(each -> each.forEachInBody(action));
            case Fallback(SchemaNode primary, SchemaNode otherwise) -> {
                primary.forEachInBody(action);
                otherwise.forEachInBody(action);
            }
            case Fixed _ -> {}
        }
    }

    /** The type of what this gives, as far as it can be told without a configuration. */
    default HclType type() {
        return switch (this) {
            case Parts(Map<String, SchemaNode> attributes) -> {
                Map<String, HclType> types = new TreeMap<>(HclType.TEXT_ORDER);
                attributes.forEach((name, node) -> types.put(name, node.type()));
                yield new ObjectOf(types);
            }
            case Sequence(List<SchemaNode> elements) -> {
                List<HclType> types = new ArrayList<>();
                elements.forEach(each -> types.add(each.type()));
                yield new TupleOf(types);
            }
            case Attribute attribute -> attribute.type();
            case Block block -> block.nested().type();
            case AttributeBlock block -> new MapOf(block.element());
            case BlockCollection block ->
                block.set()
                        ? new SetOf(block.nested().type())
                        : new ListOf(block.nested().type());
            case BlockMap(String _, List<String> labels, SchemaNode nested) -> {
                HclType type = nested.type();
                for (int i = 0; i < labels.size(); i++) {
                    type = new MapOf(type);
                }
                yield type;
            }
            case Fallback fallback -> fallback.primary().type();
            case Fixed(HclValue value) -> value.type();
        };
    }
}
