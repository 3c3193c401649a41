package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Key;
import io.homeostat.desired.model.schema.Keys;
import io.homeostat.desired.model.schema.Location;
import io.homeostat.desired.model.schema.Matches;
import io.homeostat.desired.model.schema.NamesWorkload;
import io.homeostat.desired.model.schema.Range;
import io.homeostat.desired.model.schema.Secret;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.yaml.FieldType.Field;
import io.homeostat.desired.yaml.FieldType.Form;
import io.homeostat.desired.yaml.FieldType.Nested;
import io.homeostat.desired.yaml.FieldType.Word;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the components of the model's records as fields. */
final class Components {
    private Components() {}

    static Field field(RecordComponent component) {
        Key key = component.getAnnotation(Key.class);
        Doc doc = component.getAnnotation(Doc.class);
        Default fallback = component.getAnnotation(Default.class);
        boolean nullable = component.getAnnotatedType().isAnnotationPresent(Nullable.class);
        FieldType type = type(component, component.getGenericType());
        return new Field(
                key == null ? component.getName() : key.value(),
                type,
                doc == null ? "" : doc.value(),
                fallback == null ? null : fallback.value(),
                fallback != null || nullable || emptyWhenLeftOut(type),
                nullable,
                component.isAnnotationPresent(Secret.class));
    }

    private static boolean emptyWhenLeftOut(FieldType type) {
        return switch (type) {
            case FieldType.Items items -> items.min() == 0;
            case FieldType.Entries entries -> true;
            case Nested nested -> nested.shape().allOptional();
            default -> false;
        };
    }

    private static FieldType type(RecordComponent component, Type generic) {
        Range range = component.getAnnotation(Range.class);
        long min = range == null ? 0 : range.min();
        long max = range == null ? Long.MAX_VALUE : range.max();
        if (generic instanceof ParameterizedType parameterized) {
            Type[] arguments = parameterized.getActualTypeArguments();
            if (parameterized.getRawType() == ImmutableList.class) {
                return new FieldType.Items(element(component, arguments[0]), Math.toIntExact(min));
            }
            if (parameterized.getRawType() == ImmutableSortedMap.class && arguments[0] == String.class) {
                Keys keys = component.getAnnotation(Keys.class);
                return new FieldType.Entries(
                        keys == null ? null : form(keys.value(), keys.words()), element(component, arguments[1]));
            }
        } else if (generic instanceof Class<?> type) {
            if (type == String.class) {
                return component.isAnnotationPresent(Location.class)
                        ? new FieldType.Url()
                        : new FieldType.Text(matches(component), Math.toIntExact(min));
            } else if (type == int.class || type == long.class) {
                return new FieldType.Whole(min, type == int.class ? Math.min(max, Integer.MAX_VALUE) : max);
            } else if (type == boolean.class) {
                return new FieldType.Flag();
            } else if (type == Duration.class) {
                return new FieldType.Time(min, max);
            } else if (type == Size.class) {
                return new FieldType.Bytes(min, max);
            } else if (type == Cpu.class) {
                return new FieldType.Share();
            } else if (type == ObjectNode.class) {
                return new FieldType.Free();
            } else if (type.isEnum()) {
                return word(type);
            } else if (type.isRecord()) {
                return new Nested(Shape.of(type));
            } else if (type.isSealed()) {
                return either(type);
            }
        }
        throw new IllegalStateException(component + " has a type that no document can have: " + generic);
    }

    private static FieldType element(RecordComponent component, Type generic) {
        if (generic == String.class) {
            return new FieldType.Text(matches(component), 0);
        }
        if (generic instanceof Class<?> type && type.isRecord()) {
            return new Nested(Shape.of(type));
        }
        throw new IllegalStateException(component + " has elements that no document can have: " + generic);
    }

    private static @Nullable Form matches(RecordComponent component) {
        if (component.isAnnotationPresent(NamesWorkload.class)) {
            return form(
                    Kind.all().stream().map(Kind::word).collect(Collectors.joining("|", "(", ")/"))
                            + WorkloadId.NAME.pattern(),
                    Kind.all().stream().map(kind -> kind.word() + "/NAME").collect(Collectors.joining(" or ")));
        }
        Matches matches = component.getAnnotation(Matches.class);
        return matches == null ? null : form(matches.value(), matches.words());
    }

    private static Form form(String pattern, String words) {
        return new Form(Pattern.compile(pattern), words);
    }

    private static Word word(Class<?> type) {
        ImmutableMap.Builder<String, Enum<?>> words = ImmutableMap.builder();
        for (Object constant : type.getEnumConstants()) {
            words.put(Word.of((Enum<?>) constant), (Enum<?>) constant);
        }
        return new Word(words.buildOrThrow());
    }

    private static FieldType.Either either(Class<?> type) {
        Class<?>[] alternatives = type.getPermittedSubclasses();
        if (alternatives.length == 2 && alternatives[0].isEnum() && alternatives[1].isRecord()) {
            return new FieldType.Either(word(alternatives[0]), new Nested(Shape.of(alternatives[1])));
        }
        throw new IllegalStateException(type + " is neither an enum nor a record, in this order");
    }
}
