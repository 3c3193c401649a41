package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Inline;
import io.homeostat.desired.yaml.Constraints.Constraint;
import io.homeostat.desired.yaml.FieldType.Entries;
import io.homeostat.desired.yaml.FieldType.Field;
import io.homeostat.desired.yaml.FieldType.Items;
import io.homeostat.desired.yaml.FieldType.Nested;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a document says of one record, found out from the record's components and their annotations. The one description that
 * the reader, the stored form, the JSON Schema and {@code explain} share. The fields of an {@link Inline} record are the
 * record's own.
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

    /** The shape of a record class. */
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
}
