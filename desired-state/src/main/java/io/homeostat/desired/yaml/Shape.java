package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Bare;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.Keys;
import io.homeostat.desired.model.schema.Fields.Location;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.NamesWorkload;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Fields.Secret;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.yaml.Constraints.Constraint;
import io.homeostat.desired.yaml.FieldType.Entries;
import io.homeostat.desired.yaml.FieldType.Field;
import io.homeostat.desired.yaml.FieldType.Form;
import io.homeostat.desired.yaml.FieldType.Items;
import io.homeostat.desired.yaml.FieldType.Nested;
import io.homeostat.desired.yaml.FieldType.Text;
import io.homeostat.desired.yaml.FieldType.Word;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a document says of one record, derived from its components and their annotations; shared by reader, stored form, JSON Schema and
 * {@code explain}. The fields of an {@link Inline} record count as the record's own.
 */
final class Shape {
    private static final ClassValue<Shape> SHAPES = new ClassValue<>() {
        @Override
        protected Shape computeValue(Class<?> type) {
            return new Shape(type);
        }
    };

    private final Class<?> type;
    private final ImmutableList<Part> parts;
    private final ImmutableList<Field> fields;
    private final ImmutableMap<String, Integer> indexes;
    private final ImmutableList<Constraint> constraints;
    private final Constructor<?> constructor;
    private final @Nullable Object[] defaults;

    /** A component: one field, or with {@code inline} all the fields of another shape. */
    private record Part(Method accessor, @Nullable Shape inline) {}

    private Shape(Class<?> type) {
        this.type = type;
        RecordComponent[] components = type.getRecordComponents();
        ImmutableList.Builder<Part> parts = ImmutableList.builder();
        ImmutableList.Builder<Field> fields = ImmutableList.builder();
        List<Constraint> constraints = new ArrayList<>(Constraints.of(type));
        Class<?>[] parameters = new Class<?>[components.length];
        for (int i = 0; i < components.length; i++) {
            parameters[i] = components[i].getType();
            Shape inline = components[i].isAnnotationPresent(Inline.class) ? Shape.of(components[i].getType()) : null;
            parts.add(new Part(components[i].getAccessor(), inline));
            if (inline == null) {
                fields.add(Components.field(components[i]));
            } else {
                fields.addAll(inline.fields);
                constraints.addAll(inline.constraints);
            }
        }
        this.parts = parts.build();
        this.fields = fields.build();
        this.constraints = ImmutableList.copyOf(constraints);
        this.indexes = indexes(this.fields);
        this.constructor = constructor(type, parameters);
        this.defaults = this.fields.stream().map(Shape::whenLeftOut).toArray();
    }

    static Shape of(Class<?> record) {
        return SHAPES.get(record);
    }

    Class<?> type() {
        return type;
    }

    /** One or two sentences on the whole; empty when there are none. */
    String doc() {
        Doc doc = type.getAnnotation(Doc.class);
        return doc == null ? "" : doc.value();
    }

    ImmutableList<Field> fields() {
        return fields;
    }

    /** Rules that take more than one field. */
    ImmutableList<Constraint> constraints() {
        return constraints;
    }

    /** The index of the field of this key, -1 if there is none. */
    int indexOf(String key) {
        Integer index = indexes.get(key);
        return index == null ? -1 : index;
    }

    ImmutableSet<String> keys() {
        return indexes.keySet();
    }

    boolean allOptional() {
        return fields.stream().allMatch(Field::optional);
    }

    /** The values of fields that are left out: a fresh array in the order of {@link #fields}, null for what is required. */
    @Nullable
    Object[] defaults() {
        return defaults.clone();
    }

    /** The record with these values, in the order of {@link #fields}. */
    Object construct(@Nullable Object[] values) {
        return construct(values, 0);
    }

    private Object construct(@Nullable Object[] values, int from) {
        @Nullable Object[] arguments = new @Nullable Object[parts.size()];
        int at = from;
        for (int i = 0; i < arguments.length; i++) {
            Shape inline = parts.get(i).inline();
            if (inline == null) {
                arguments[i] = values[at++];
            } else {
                arguments[i] = inline.construct(values, at);
                at += inline.fields.size();
            }
        }
        try {
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(type.getSimpleName() + " refuses values the reader accepts", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(type + " is not a public record", e);
        }
    }

    /** The values of a record, in the order of {@link #fields}. */
    @Nullable
    Object[] values(Object record) {
        @Nullable Object[] values = new @Nullable Object[fields.size()];
        values(record, values, 0);
        return values;
    }

    private void values(Object record, @Nullable Object[] values, int from) {
        int at = from;
        for (Part part : parts) {
            Object value = value(part.accessor(), record);
            if (part.inline() == null) {
                values[at++] = value;
            } else if (value != null) {
                part.inline().values(value, values, at);
                at += part.inline().fields.size();
            }
        }
    }

    private static @Nullable Object value(Method accessor, Object record) {
        try {
            return accessor.invoke(record);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(accessor + " can't be read", e);
        }
    }

    private static @Nullable Object whenLeftOut(Field field) {
        String text = field.defaultText();
        if (text != null) {
            return Defaults.value(field, text);
        }
        if (field.nullable()) {
            return null;
        }
        return switch (field.type()) {
            case Items items -> ImmutableList.of();
            case Entries entries -> ImmutableSortedMap.of();
            case Nested nested
            when nested.shape().allOptional() ->
                nested.shape().construct(nested.shape().defaults());
            default -> null;
        };
    }

    private static ImmutableMap<String, Integer> indexes(ImmutableList<Field> fields) {
        ImmutableMap.Builder<String, Integer> indexes = ImmutableMap.builderWithExpectedSize(fields.size());
        for (int i = 0; i < fields.size(); i++) {
            indexes.put(fields.get(i).key(), i);
        }
        return indexes.buildOrThrow();
    }

    private static Constructor<?> constructor(Class<?> type, Class<?>[] parameters) {
        try {
            return type.getDeclaredConstructor(parameters);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(type + " " + Arrays.toString(parameters) + " is not a record", e);
        }
    }

    /** Reads the components of the model's records as fields. */
    private static final class Components {
        private Components() {}

        static Field field(RecordComponent component) {
            Fields.Key key = component.getAnnotation(Fields.Key.class);
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
                    return new FieldType.Items(element(component, arguments[0], max), Math.toIntExact(min));
                }
                if (parameterized.getRawType() == ImmutableSortedMap.class && arguments[0] == String.class) {
                    Keys keys = component.getAnnotation(Keys.class);
                    return new FieldType.Entries(
                            keys == null ? null : form(keys.value(), keys.words()),
                            element(component, arguments[1], max));
                }
            } else if (generic instanceof Class<?> type) {
                if (type == String.class) {
                    return component.isAnnotationPresent(Location.class)
                            ? new FieldType.Url()
                            : new FieldType.Text(matches(component), Math.toIntExact(min));
                } else if (type == int.class || type == Integer.class || type == long.class) {
                    return new FieldType.Whole(min, type == long.class ? max : Math.min(max, Integer.MAX_VALUE));
                } else if (type == boolean.class || type == Boolean.class) {
                    return new FieldType.Flag();
                } else if (type == Duration.class) {
                    return new FieldType.Time(min, max);
                } else if (type == Size.class) {
                    return new FieldType.Bytes(min, max);
                } else if (type == Cpu.class) {
                    return new FieldType.Share();
                } else if (type == Portion.class) {
                    return new FieldType.Part();
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

        /** @param max of each, when they are numbers */
        private static FieldType element(RecordComponent component, Type generic, long max) {
            if (generic == String.class) {
                return new FieldType.Text(matches(component), 0);
            }
            if (generic == Long.class) {
                return new FieldType.Whole(0, max);
            }
            if (generic == Portion.class) {
                return new FieldType.Part();
            }
            if (generic instanceof Class<?> type && type.isEnum()) {
                return word(type);
            }
            if (generic instanceof Class<?> type && type.isRecord()) {
                return new Nested(Shape.of(type));
            }
            if (generic instanceof Class<?> type && type.isSealed()) {
                return textOr(type);
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
            return matches == null
                    ? null
                    : new Form(Pattern.compile(matches.value()), matches.words(), matches.anyInMessages());
        }

        private static Form form(String pattern, String words) {
            return new Form(Pattern.compile(pattern), words, false);
        }

        private static Word word(Class<?> type) {
            ImmutableMap.Builder<String, Enum<?>> words = ImmutableMap.builder();
            for (Object constant : type.getEnumConstants()) {
                words.put(Word.of((Enum<?>) constant), (Enum<?>) constant);
            }
            return new Word(words.buildOrThrow());
        }

        private static FieldType.TextOr textOr(Class<?> type) {
            Class<?>[] alternatives = type.getPermittedSubclasses();
            if (alternatives.length == 2 && alternatives[0].isAnnotationPresent(Bare.class)) {
                return new FieldType.TextOr(
                        new Text(null, 0), Shape.of(alternatives[0]), new Nested(Shape.of(alternatives[1])));
            }
            throw new IllegalStateException(type + " is neither a bare text nor a record, in this order");
        }

        private static FieldType.Either either(Class<?> type) {
            Class<?>[] alternatives = type.getPermittedSubclasses();
            if (alternatives.length == 2 && alternatives[0].isEnum() && alternatives[1].isRecord()) {
                return new FieldType.Either(word(alternatives[0]), new Nested(Shape.of(alternatives[1])));
            }
            throw new IllegalStateException(type + " is neither an enum nor a record, in this order");
        }
    }

    /** Reads the defaults that the model is annotated with. */
    static final class Defaults {
        private Defaults() {}

        /** The elements of a default that is a list of texts. */
        static ImmutableList<String> texts(String text) {
            List<Node> nodes = new ArrayList<>();
            YamlText.read(text, new Report(text), nodes::add);
            return ((Sequence) nodes.getFirst())
                    .elements().stream()
                            .map(element -> ((Scalar) element).text())
                            .collect(ImmutableList.toImmutableList());
        }

        static Object value(Field field, String text) {
            Report report = new Report("the default of " + field.key());
            List<Node> nodes = new ArrayList<>();
            if (text.startsWith("[")) {
                YamlText.read(text, report, nodes::add);
            } else {
                nodes.add(new Scalar(1, 1, text, !(field.type() instanceof Text)));
            }
            Object value = new Binder(report, null).value(field, nodes.getFirst());
            if (value == null || !report.errors().isEmpty()) {
                throw new IllegalStateException(report.errors().toString());
            }
            return value;
        }
    }
}
