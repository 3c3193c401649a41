package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.language.HclExpressions;
import io.homeostat.desired.hcl.language.HclType;
import io.homeostat.desired.hcl.language.HclValue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A key of a driver's configuration, for people.
 *
 * @param path the keys that lead to it, itself included; a label of a block is in angle brackets
 * @param type such as {@code list(string)}, or which kind of block
 * @param required whether it has to be there
 * @param defaultText what it is when it is missing, as JSON; null when that is nothing
 */
public record SchemaField(
        List<String> path,
        String type,
        boolean required,
        @Nullable String defaultText) {
    public SchemaField {
        path = List.copyOf(path);
    }

    static List<SchemaField> of(SchemaNode root) {
        List<SchemaField> fields = new ArrayList<>();
        add(root, List.of(), null, fields);
        return List.copyOf(fields);
    }

    private static void add(SchemaNode node, List<String> above, @Nullable String text, List<SchemaField> fields) {
        switch (node) {
            case SchemaNode.Parts(Map<String, SchemaNode> attributes) ->
                attributes.values().stream()
                        .sorted(Comparator.comparing(SchemaField::name))
                        .forEach(each -> add(each, above, null, fields));
            case SchemaNode.Sequence(List<SchemaNode> elements) ->
                elements.forEach(each -> add(each, above, null, fields));
            case SchemaNode.Fixed _ -> {}
            case SchemaNode.Fallback(SchemaNode primary, SchemaNode otherwise) -> {
                add(primary, above, defaultText(otherwise), fields);
                add(otherwise, above, null, fields);
            }
            case SchemaNode.Attribute(String name, HclType type, boolean required) ->
                fields.add(new SchemaField(below(above, name), type.expression(), required, text));
            case SchemaNode.AttributeBlock(String name, HclType element, boolean required) ->
                fields.add(new SchemaField(
                        below(above, name), "block of any keys, each " + element.expression(), required, text));
            case SchemaNode.Block(String name, SchemaNode nested, boolean required) ->
                addBlock(new SchemaField(below(above, name), "block", required, text), List.of(), nested, fields);
            case SchemaNode.BlockCollection(String name, SchemaNode nested, long least, long most, boolean set) ->
                addBlock(
                        new SchemaField(
                                below(above, name),
                                (set ? "set" : "list") + " of blocks" + bounds(least, most),
                                least > 0,
                                text),
                        List.of(),
                        nested,
                        fields);
            case SchemaNode.BlockMap(String name, List<String> labels, SchemaNode nested) ->
                addBlock(
                        new SchemaField(
                                below(above, name), "map of blocks by " + String.join(", ", labels), false, text),
                        labels,
                        nested,
                        fields);
        }
    }

    private static void addBlock(SchemaField field, List<String> labels, SchemaNode nested, List<SchemaField> fields) {
        fields.add(field);
        List<String> path = field.path();
        for (String label : labels) {
            path = below(path, "<" + label + ">");
        }
        add(nested, path, null, fields);
    }

    private static String bounds(long least, long most) {
        if (least <= 0 && most <= 0) {
            return "";
        }
        return most <= 0 ? ", at least " + least : least <= 0 ? ", at most " + most : ", " + least + " to " + most;
    }

    private static List<String> below(List<String> path, String name) {
        List<String> longer = new ArrayList<>(path);
        longer.add(name);
        return longer;
    }

    private static String name(SchemaNode node) {
        return switch (node) {
            case SchemaNode.Keyed keyed -> keyed.name();
            case SchemaNode.Fallback(SchemaNode primary, SchemaNode _) -> name(primary);
            default -> "";
        };
    }

    private static @Nullable String defaultText(SchemaNode node) {
        return switch (node) {
            case SchemaNode.Fixed(HclValue value) -> value.isNull() ? null : HclExpressions.json(value);
            case SchemaNode.Fallback(SchemaNode _, SchemaNode otherwise) -> defaultText(otherwise);
            default -> null;
        };
    }
}
