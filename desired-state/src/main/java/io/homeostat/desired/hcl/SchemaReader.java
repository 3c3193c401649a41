package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.language.HclException;
import io.homeostat.desired.hcl.language.HclExpressions;
import io.homeostat.desired.hcl.language.HclType;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Block;
import io.homeostat.proto.nomad.hclspec.BlockAttrs;
import io.homeostat.proto.nomad.hclspec.BlockList;
import io.homeostat.proto.nomad.hclspec.BlockMap;
import io.homeostat.proto.nomad.hclspec.BlockSet;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Reads the message that describes a driver's configuration. */
final class SchemaReader {
    /** Blocks within each other; those of drivers have three. */
    private static final int DEEPEST = 60;

    private final HclExpressions expressions = new HclExpressions(Map.of());
    private int depth;

    /**
     * @param implied the name of what has none of its own
     * @param place for messages
     */
    SchemaNode read(Spec spec, String implied, String place) throws SchemaException {
        enter(1, place);
        SchemaNode node = switch (spec.getBlockCase()) {
            case OBJECT -> parts(spec.getObject().getAttributesMap(), place);
            case ARRAY -> sequence(spec.getArray().getValuesList(), place);
            case ATTR -> attribute(spec.getAttr(), implied, place);
            case BLOCK_VALUE -> block(spec.getBlockValue(), implied, place);
            case BLOCK_ATTRS -> attributeBlock(spec.getBlockAttrs(), implied, place);
            case BLOCK_LIST -> list(spec.getBlockList(), implied, place);
            case BLOCK_SET -> set(spec.getBlockSet(), implied, place);
            case BLOCK_MAP -> map(spec.getBlockMap(), implied, place);
            case DEFAULT -> {
                if (!spec.getDefault().hasPrimary() || !spec.getDefault().hasDefault()) {
                    throw new SchemaException(place, "has a default that lacks a half");
                }
                yield new SchemaNode.Fallback(
                        read(spec.getDefault().getPrimary(), "", place),
                        read(spec.getDefault().getDefault(), "", place));
            }
            case LITERAL -> literal(spec.getLiteral().getValue(), place);
            case BLOCK_NOT_SET -> throw new SchemaException(place, "has a part of a kind that is not known");
        };
        depth--;
        return node;
    }

    private void enter(int levels, String place) throws SchemaException {
        depth += levels;
        if (depth > DEEPEST) {
            throw new SchemaException(place, "is nested more than " + DEEPEST + " levels deep");
        }
    }

    private static String below(String place, String key) {
        return place.isEmpty() ? key : place + "." + key;
    }

    private SchemaNode parts(Map<String, Spec> attributes, String place) throws SchemaException {
        Map<String, SchemaNode> parts = new TreeMap<>(HclType.TEXT_ORDER);
        for (Map.Entry<String, Spec> each : attributes.entrySet()) {
            parts.put(each.getKey(), read(each.getValue(), each.getKey(), below(place, each.getKey())));
        }
        return new SchemaNode.Parts(parts);
    }

    private SchemaNode sequence(List<Spec> values, String place) throws SchemaException {
        List<SchemaNode> elements = new ArrayList<>();
        for (Spec each : values) {
            elements.add(read(each, "", place));
        }
        return new SchemaNode.Sequence(elements);
    }

    private SchemaNode literal(String source, String place) throws SchemaException {
        try {
            return new SchemaNode.Fixed(expressions.expression(source));
        } catch (HclException e) {
            throw new SchemaException(place, "has a literal that " + e.getMessage());
        }
    }

    private HclType type(String source, String place) throws SchemaException {
        try {
            return expressions.type(source);
        } catch (HclException e) {
            throw new SchemaException(place, "has a type that " + e.getMessage());
        }
    }

    private static String name(String own, String implied, String place) throws SchemaException {
        String name = own.isEmpty() ? implied : own;
        if (name.isEmpty()) {
            throw new SchemaException(place, "has a part without a name");
        }
        return name;
    }

    private SchemaNode attribute(Attr attr, String implied, String place) throws SchemaException {
        HclType type = type(attr.getType(), place);
        return new SchemaNode.Attribute(name(attr.getName(), implied, place), type, attr.getRequired());
    }

    private SchemaNode nested(boolean present, Spec nested, String place) throws SchemaException {
        if (!present) {
            throw new SchemaException(place, "has a block without content");
        }
        return read(nested, "", place);
    }

    private SchemaNode block(Block block, String implied, String place) throws SchemaException {
        // Here alone Nomad accepts that there is no name.
        String name = block.getName().isEmpty() ? implied : block.getName();
        return new SchemaNode.Block(name, nested(block.hasNested(), block.getNested(), place), block.getRequired());
    }

    private SchemaNode attributeBlock(BlockAttrs block, String implied, String place) throws SchemaException {
        HclType type = type(block.getType(), place);
        return new SchemaNode.AttributeBlock(name(block.getName(), implied, place), type, block.getRequired());
    }

    private SchemaNode list(BlockList block, String implied, String place) throws SchemaException {
        SchemaNode nested = nested(block.hasNested(), block.getNested(), place);
        return new SchemaNode.BlockCollection(
                name(block.getName(), implied, place), nested, block.getMinItems(), block.getMaxItems(), false);
    }

    private SchemaNode set(BlockSet block, String implied, String place) throws SchemaException {
        SchemaNode nested = nested(block.hasNested(), block.getNested(), place);
        return new SchemaNode.BlockCollection(
                name(block.getName(), implied, place), nested, block.getMinItems(), block.getMaxItems(), true);
    }

    private SchemaNode map(BlockMap block, String implied, String place) throws SchemaException {
        int labels = block.getLabelsCount();
        if (labels == 0) {
            throw new SchemaException(place, "has a map of blocks without a label");
        }
        // Each label is a map around the blocks.
        enter(labels, place);
        SchemaNode nested = nested(block.hasNested(), block.getNested(), place);
        depth -= labels;
        return new SchemaNode.BlockMap(name(block.getName(), implied, place), block.getLabelsList(), nested);
    }
}
