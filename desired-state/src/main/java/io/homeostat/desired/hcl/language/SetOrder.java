package io.homeostat.desired.hcl.language;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * In which order the elements of a set stand, and which of them are one: those with the same key that are equal. Numbers, text and
 * bools have their own order; what is compound is sorted by its key.
 */
final class SetOrder {
    private SetOrder() {}

    private record Element(String key, long hash, HclValue value) {}

    static List<@Nullable Object> sorted(HclType type, List<@Nullable Object> raws, Budget budget) {
        Map<String, List<HclValue>> buckets = new LinkedHashMap<>();
        for (@Nullable Object raw : raws) {
            HclValue value = new HclValue(type, raw);
            String key = key(value);
            budget.write(key.length());
            List<HclValue> bucket = buckets.computeIfAbsent(key, _ -> new ArrayList<>());
            if (bucket.stream().noneMatch(each -> Equality.isTrue(each, value))) {
                budget.steps(bucket.size());
                bucket.add(value);
            }
        }
        List<Element> elements = new ArrayList<>();
        buckets.forEach((key, values) -> {
            CRC32 crc = new CRC32();
            crc.update(key.getBytes(StandardCharsets.UTF_8));
            values.forEach(value -> elements.add(new Element(key, crc.getValue(), value)));
        });
        // By hash first: that is the order of those that the order proper does not tell apart.
        elements.sort(Comparator.comparingLong(Element::hash));
        elements.sort(order(type));
        List<@Nullable Object> sorted = new ArrayList<>();
        elements.forEach(each -> sorted.add(each.value().raw()));
        return sorted;
    }

    private static Comparator<Element> order(HclType type) {
        Comparator<Element> present = switch (type) {
            case Primitive.STRING -> Comparator.comparing(each -> each.value().text(), HclType.TEXT_ORDER);
            case Primitive.NUMBER ->
                (a, b) -> a.value().number().compare(b.value().number());
            case Primitive.BOOL -> Comparator.comparing(each -> each.value().isTrue());
            default -> Comparator.comparing(Element::key, HclType.TEXT_ORDER);
        };
        return (a, b) -> a.value().isNull() || b.value().isNull()
                ? Boolean.compare(a.value().isNull(), b.value().isNull())
                : present.compare(a, b);
    }

    private static String key(HclValue value) {
        StringBuilder key = new StringBuilder();
        write(value, key);
        return key.toString();
    }

    private static void write(HclValue value, StringBuilder key) {
        if (!value.isKnown()) {
            key.append('?');
            return;
        }
        if (value.isNull()) {
            key.append('~');
            return;
        }
        switch (value.type()) {
            case Primitive.NUMBER -> key.append(value.number().sortedText());
            case Primitive.BOOL -> key.append(value.isTrue() ? 'T' : 'F');
            case Primitive.STRING -> quote(value.text(), key);
            case HclType.MapOf _ -> {
                key.append('{');
                value.entries().forEach((name, each) -> {
                    quote(name, key);
                    key.append(':');
                    write(each, key);
                    key.append(';');
                });
                key.append('}');
            }
            case ListOf _ -> parts(value, "[]", key);
            case SetOf _ -> parts(value, "[]", key);
            case TupleOf _ -> parts(value, "<>", key);
            case HclType.ObjectOf _ -> parts(value, "<>", key);
            case HclType.Special _ -> key.append('?');
        }
    }

    private static void parts(HclValue value, String brackets, StringBuilder key) {
        key.append(brackets.charAt(0));
        for (HclValue each : value.elements()) {
            write(each, key);
            key.append(';');
        }
        key.append(brackets.charAt(1));
    }

    /** As a literal of Go, which the order of compound elements depends on. */
    private static void quote(String text, StringBuilder key) {
        key.append('"');
        text.codePoints().forEach(point -> key.append(escaped(point)));
        key.append('"');
    }

    private static String escaped(int point) {
        return switch (point) {
            case '"' -> "\\\"";
            case '\\' -> "\\\\";
            case 7 -> "\\a";
            case '\b' -> "\\b";
            case '\f' -> "\\f";
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            case 11 -> "\\v";
            default -> {
                if (isPrintable(point)) {
                    yield Character.toString(point);
                }
                yield String.format(point < 0x80 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
            }
        };
    }

    private static boolean isPrintable(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.PRIVATE_USE,
                    Character.SURROGATE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            case Character.SPACE_SEPARATOR -> point == ' ';
            default -> true;
        };
    }
}
