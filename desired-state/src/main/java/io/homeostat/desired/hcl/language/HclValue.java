package io.homeostat.desired.hcl.language;

import com.google.common.collect.Lists;
import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A value with its type. What is in a collection has no type of its own: it has the collection's. Text is normalized (NFC).
 *
 * @param raw null for null; a {@link String}, {@link HclNumber}, {@link Boolean} or {@link HclType}; a list of such for a list, set or
 *     tuple; a map of such, in the order of keys, for a map or object; or the mark of a value that isn't known, because of an error or
 *     because it stands for whatever a loop will bring
 */
public record HclValue(HclType type, @Nullable Object raw) {
    private enum Mark {
        UNKNOWN
    }

    /** Nothing is known of it, not even the type. */
    static final HclValue DYNAMIC = unknown(Special.ANY);

    public static final HclValue NULL = nullOf(Special.ANY);
    static final HclValue TRUE = new HclValue(Primitive.BOOL, true);
    static final HclValue FALSE = new HclValue(Primitive.BOOL, false);

    /** Stands for a value after a mistake. */
    public static HclValue unknown(HclType type) {
        return new HclValue(type, Mark.UNKNOWN);
    }

    public static HclValue nullOf(HclType type) {
        return new HclValue(type, null);
    }

    public static HclValue of(String text) {
        return new HclValue(Primitive.STRING, normalized(text));
    }

    public static HclValue of(HclNumber number) {
        return new HclValue(Primitive.NUMBER, number);
    }

    public static HclValue of(boolean value) {
        return value ? TRUE : FALSE;
    }

    static HclValue of(HclType type) {
        return new HclValue(Special.TYPE, type);
    }

    static HclValue count(long count) {
        return of(HclNumber.of(count));
    }

    static String normalized(String text) {
        return Normalizer.isNormalized(text, Normalizer.Form.NFC)
                ? text
                : Normalizer.normalize(text, Normalizer.Form.NFC);
    }

    public static HclValue tuple(List<HclValue> elements) {
        return new HclValue(new TupleOf(Lists.transform(elements, HclValue::type)), raws(elements));
    }

    public static HclValue object(Map<String, HclValue> attributes) {
        Map<String, HclType> types = new TreeMap<>(HclType.TEXT_ORDER);
        SortedMap<String, @Nullable Object> raws = new TreeMap<>(HclType.TEXT_ORDER);
        attributes.forEach((name, value) -> {
            types.put(normalized(name), value.type());
            raws.put(normalized(name), value.raw());
        });
        return new HclValue(new ObjectOf(types), raws);
    }

    /** Null when the elements have not all one type. */
    public static @Nullable HclValue list(List<HclValue> elements) {
        HclType element = common(elements);
        return element == null ? null : new HclValue(new ListOf(element), raws(elements));
    }

    /** Null when the elements have not all one type. */
    static @Nullable HclValue set(List<HclValue> elements, Budget budget) {
        HclType element = common(elements);
        return element == null
                ? null
                : new HclValue(new SetOf(element), SetOrder.sorted(element, raws(elements), budget));
    }

    /** Null when the elements have not all one type. */
    public static @Nullable HclValue map(Map<String, HclValue> elements) {
        HclType element = common(List.copyOf(elements.values()));
        if (element == null) {
            return null;
        }
        SortedMap<String, @Nullable Object> raws = new TreeMap<>(HclType.TEXT_ORDER);
        elements.forEach((key, value) -> raws.put(normalized(key), value.raw()));
        return new HclValue(new MapOf(element), raws);
    }

    public static HclValue empty(HclType.Collection type) {
        return new HclValue(type, type instanceof MapOf ? new TreeMap<>(HclType.TEXT_ORDER) : List.of());
    }

    /** What has no type, such as null, takes that of the others. */
    private static @Nullable HclType common(List<HclValue> elements) {
        HclType found = Special.ANY;
        for (HclValue each : elements) {
            if (found == Special.ANY) {
                found = each.type();
            } else if (each.type() != Special.ANY && !found.equals(each.type())) {
                return null;
            }
        }
        return found;
    }

    private static List<@Nullable Object> raws(List<HclValue> elements) {
        List<@Nullable Object> raws = new ArrayList<>(elements.size());
        elements.forEach(each -> raws.add(each.raw()));
        return raws;
    }

    public boolean isNull() {
        return raw == null;
    }

    public boolean isKnown() {
        return raw != Mark.UNKNOWN;
    }

    /** Nothing in it is unknown. */
    public boolean isWhollyKnown() {
        return isKnown(raw);
    }

    private static boolean isKnown(@Nullable Object raw) {
        return switch (raw) {
            case Mark _ -> false;
            case List<?> list -> list.stream().allMatch(HclValue::isKnown);
            case Map<?, ?> map -> map.values().stream().allMatch(HclValue::isKnown);
            case null, default -> true;
        };
    }

    public String text() {
        return (String) present();
    }

    public HclNumber number() {
        return (HclNumber) present();
    }

    public boolean isTrue() {
        return (Boolean) present();
    }

    HclType typeValue() {
        return (HclType) present();
    }

    private Object present() {
        if (raw == null || raw == Mark.UNKNOWN) {
            throw HclException.of("has no value here");
        }
        return raw;
    }

    boolean isSequence() {
        return type instanceof TupleOf || type instanceof ListOf || type instanceof SetOf;
    }

    boolean canIterate() {
        return type instanceof HclType.Collection || type instanceof TupleOf || type instanceof ObjectOf;
    }

    public int size() {
        return switch (type) {
            case TupleOf(List<HclType> elements) -> elements.size();
            case ObjectOf(Map<String, HclType> attributes) -> attributes.size();
            default -> present() instanceof Map<?, ?> map ? map.size() : ((List<?>) present()).size();
        };
    }

    /** Of a list, set or tuple; of a map or object the values in the order of their keys. */
    public List<HclValue> elements() {
        return switch (type) {
            case TupleOf(List<HclType> types) -> {
                List<?> raws = (List<?>) present();
                yield IntStream.range(0, raws.size())
                        .mapToObj(i -> new HclValue(types.get(i), raws.get(i)))
                        .toList();
            }
            case ListOf(HclType element) -> elements(element);
            case SetOf(HclType element) -> elements(element);
            default -> List.copyOf(entries().values());
        };
    }

    private List<HclValue> elements(HclType element) {
        List<HclValue> values = new ArrayList<>();
        ((List<?>) present()).forEach(each -> values.add(new HclValue(element, each)));
        return values;
    }

    /** Of a map or an object. */
    public SortedMap<String, HclValue> entries() {
        SortedMap<String, HclValue> entries = new TreeMap<>(HclType.TEXT_ORDER);
        ((Map<?, ?>) present()).forEach((key, each) -> {
            String name = (String) key;
            HclType of = type instanceof ObjectOf(Map<String, HclType> types)
                    ? types.getOrDefault(name, Special.ANY)
                    : ((MapOf) type).element();
            entries.put(name, new HclValue(of, each));
        });
        return entries;
    }
}
