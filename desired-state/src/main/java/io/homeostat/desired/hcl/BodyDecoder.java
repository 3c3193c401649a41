package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.SchemaNode.Keyed;
import io.homeostat.desired.hcl.language.HclException;
import io.homeostat.desired.hcl.language.HclExpressions;
import io.homeostat.desired.hcl.language.HclType;
import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclValue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads a body, which is an object or a list of objects that count as one, by a part of the schema. */
final class BodyDecoder {
    private final HclExpressions expressions;
    private final ConfigValues values;
    private final Problems problems;

    BodyDecoder(HclExpressions expressions, List<ConfigProblem> problems) {
        this.expressions = expressions;
        this.problems = new Problems(problems);
        this.values = new ConfigValues(expressions, this.problems);
    }

    HclValue decode(@Nullable Object config, SchemaNode schema) {
        return body(new Located(config, List.of()), schema);
    }

    private HclValue body(Located located, SchemaNode schema) {
        return node(schema, Body.read(located, schema, problems));
    }

    private HclValue node(SchemaNode schema, Body body) {
        return switch (schema) {
            case SchemaNode.Parts(Map<String, SchemaNode> attributes) -> {
                Map<String, HclValue> parts = new LinkedHashMap<>();
                attributes.forEach((name, part) -> parts.put(name, node(part, body)));
                yield HclValue.object(parts);
            }
            case SchemaNode.Sequence(List<SchemaNode> elements) ->
                HclValue.tuple(elements.stream().map(each -> node(each, body)).toList());
            case SchemaNode.Fixed(HclValue value) -> value;
            case SchemaNode.Fallback(SchemaNode primary, SchemaNode otherwise) -> {
                HclValue value = node(primary, body);
                yield value.isNull() ? node(otherwise, body) : value;
            }
            case SchemaNode.Attribute(String name, HclType type, boolean _) -> {
                Located found = body.attributes().get(name);
                yield found == null ? HclValue.nullOf(type) : values.read(found, type);
            }
            case SchemaNode.Block block -> block(block, body);
            case SchemaNode.AttributeBlock block -> attributeBlock(block, body);
            case SchemaNode.BlockCollection blocks -> collection(blocks, body);
            case SchemaNode.BlockMap blocks -> map(blocks, body);
        };
    }

    /** The only block of this name, null when there is none. */
    private Body.@Nullable Block only(Keyed schema, boolean required, Body body) {
        List<Body.Block> found = body.blocks(schema.name());
        if (found.isEmpty() && required) {
            problems.add(body.path(), "lacks the block \"" + schema.name() + "\", which is required");
        }
        if (found.size() > 1) {
            problems.add(found.get(1).body().path(), "is a second block where only one is allowed: leave one out");
        }
        return found.isEmpty() ? null : found.getFirst();
    }

    private HclValue block(SchemaNode.Block schema, Body body) {
        Body.Block found = only(schema, schema.required(), body);
        return found == null ? HclValue.nullOf(schema.type()) : body(found.body(), schema.nested());
    }

    private HclValue attributeBlock(SchemaNode.AttributeBlock schema, Body body) {
        Body.Block found = only(schema, schema.required(), body);
        if (found == null) {
            return HclValue.nullOf(schema.type());
        }
        Located content = found.body();
        if (!(content.config() instanceof Map<?, ?> entries)) {
            problems.add(content.path(), "should be a map of keys and values");
            return HclValue.unknown(schema.type());
        }
        Map<String, HclValue> read = new LinkedHashMap<>();
        entries.forEach((key, value) -> {
            String name = String.valueOf(key);
            if (!name.equals(Body.COMMENT)) {
                read.put(name, values.read(content.below(name, value), schema.element()));
            }
        });
        return read.isEmpty()
                ? HclValue.empty(new MapOf(schema.element()))
                : sameType(HclValue.map(read), content.path(), schema.type());
    }

    private HclValue sameType(@Nullable HclValue made, List<Object> path, HclType type) {
        if (made == null) {
            problems.add(path, "should have values that are all of one type");
        }
        return made == null ? HclValue.unknown(type) : made;
    }

    private HclValue collection(SchemaNode.BlockCollection schema, Body body) {
        List<Body.Block> found = body.blocks(schema.name());
        List<HclValue> elements = new ArrayList<>();
        for (Body.Block each : found) {
            elements.add(body(each.body(), schema.nested()));
        }
        // As in Nomad, these are not negative, whatever the bits of the message say.
        if (found.size() < schema.least()) {
            problems.add(
                    body.place(schema.name()),
                    "lacks blocks \"" + schema.name() + "\": at least " + schema.least() + " are required");
        } else if (schema.most() > 0 && found.size() > schema.most()) {
            problems.add(
                    found.get((int) schema.most()).body().path(),
                    "is one block too many: at most " + schema.most() + " are allowed");
        }
        HclType element = schema.nested().type();
        if (elements.isEmpty()) {
            return HclValue.empty(schema.set() ? new SetOf(element) : new ListOf(element));
        }
        List<Object> path = body.place(schema.name());
        try {
            List<HclValue> unified = expressions.unified(elements);
            return sameType(schema.set() ? expressions.set(unified) : HclValue.list(unified), path, schema.type());
        } catch (HclException e) {
            problems.add(path, "has blocks whose values have different types: write them alike");
            return HclValue.unknown(schema.type());
        }
    }

    private HclValue map(SchemaNode.BlockMap schema, Body body) {
        if (schema.nested().type().hasAny()) {
            problems.add(
                    body.place(schema.name()),
                    "can't be read: the driver's schema has the type \"any\" within the map of blocks \""
                            + schema.name() + "\"");
            return HclValue.unknown(schema.type());
        }
        Map<String, Object> tree = new LinkedHashMap<>();
        for (Body.Block each : body.blocks(schema.name())) {
            HclValue value = body(each.body(), schema.nested());
            Map<String, Object> level = tree;
            for (String label : each.labels().subList(0, each.labels().size() - 1)) {
                level = level(level, label);
            }
            if (level.putIfAbsent(each.labels().getLast(), value) != null) {
                problems.add(each.body().path(), "is a second block with the same labels: leave one out");
            }
        }
        // Nomad's empty map forgets all labels but one, which can be told when it stands beside others.
        return tree.isEmpty()
                ? HclValue.empty(new MapOf(schema.nested().type()))
                : map(tree, schema.type(), body.place(schema.name()));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> level(Map<String, Object> above, String label) {
        return (Map<String, Object>) above.computeIfAbsent(label, _ -> new LinkedHashMap<String, Object>());
    }

    private HclValue map(Map<String, Object> tree, HclType type, List<Object> path) {
        Map<String, HclValue> elements = new LinkedHashMap<>();
        HclType element = ((MapOf) type).element();
        tree.forEach((label, below) ->
                elements.put(label, below instanceof HclValue value ? value : map(asTree(below), element, path)));
        return sameType(HclValue.map(elements), path, type);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> asTree(Object below) {
        return (Map<String, Object>) below;
    }
}
