package io.homeostat.desired.state;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.yaml.DocumentCodec;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Stores records as JSON. Uses {@link Fields.Key} and {@link Inline} as documents do, but is lenient: unknown keys are ignored, and what
 * is missing is null, 0, false or empty, which is also how such values are written. Enum constants are written by name and read in any
 * case, with or without underscores.
 */
public final class RecordCodec {
    private static final ClassValue<Form> FORMS = new ClassValue<>() {
        @Override
        protected Form computeValue(Class<?> type) {
            return Form.of(type);
        }
    };

    /** Tells the records of a sealed interface from each other. */
    private static final String TYPE = "type";

    /** The part that is the whole text. */
    private static final String ALL = "all";

    private final ObjectMapper json;
    private final Function<String, Workload> documents;
    private final Function<Workload, String> texts;

    public RecordCodec(ObjectMapper json) {
        this(json, DocumentCodec::fromJson, DocumentCodec::toJson);
    }

    /** A codec whose caller reads and writes the texts of workloads. */
    public RecordCodec(ObjectMapper json, Function<String, Workload> documents, Function<Workload, String> texts) {
        this.json = json;
        this.documents = documents;
        this.texts = texts;
    }

    public String write(Record record) {
        return tree(record).toString();
    }

    /**
     * Reads a record component by component: one that can't be read counts as left out.
     *
     * @param lost is told which, without quoting it: there may be secrets in it
     */
    public <T extends Record> T read(Class<T> type, String text, BiConsumer<String, Exception> lost) {
        JsonNode root = json.createObjectNode();
        try {
            JsonNode read = json.readTree(text);
            if (read.isObject()) {
                root = read;
            } else {
                lost.accept(ALL, new IllegalArgumentException("not an object"));
            }
        } catch (JsonProcessingException e) {
            lost.accept(ALL, e);
        }
        return type.cast(record(type, root, lost));
    }

    /** Reads a record; throws an IllegalArgumentException if any part can't be read. */
    public <T extends Record> T read(Class<T> type, String text) {
        return foreign(() -> read(type, text, (part, e) -> {
            throw new IllegalArgumentException((part.equals(ALL) ? "" : part + ": ") + message(e), e);
        }));
    }

    /** Reads what others have written. */
    @FunctionalInterface
    public interface Reading<T> {
        /** Throws anything when that can't be read. */
        T read() throws IOException;
    }

    /**
     * Reads one thing that others have written. However that fails, also by a defect of ours, it is a matter of this one thing.
     *
     * @throws IllegalArgumentException when it can't be read; its message says why
     */
    public static <T> T foreign(Reading<T> reading) {
        try {
            return reading.read();
        } catch (IllegalArgumentException e) {
            throw e;
        } catch (IOException | RuntimeException | StackOverflowError e) {
            throw new IllegalArgumentException(message(e), e);
        }
    }

    /** Returns why something could not be read, in one line; the message of Jackson goes on with where its text came from. */
    public static String message(Throwable e) {
        return switch (e) {
            case JsonProcessingException invalid -> noJson(invalid) + ": " + invalid.getOriginalMessage();
            case StackOverflowError _ -> "it is nested too deep";
            case IOException _, IllegalArgumentException _ -> String.valueOf(e.getMessage());
            default ->
                "reading it failed unexpectedly: "
                        + e.toString().lines().findFirst().orElse("");
        };
    }

    /** Returns that a text is no JSON, and from where on; nobody knows the place when the text is beyond a bound of Jackson. */
    public static String noJson(JsonProcessingException e) {
        JsonLocation place = e.getLocation();
        return place == null
                ? "no JSON that can be read"
                : "no JSON at line " + place.getLineNr() + ", column " + place.getColumnNr();
    }

    private Object record(Class<?> type, JsonNode node, BiConsumer<String, ? super IllegalArgumentException> lost) {
        if (!node.isObject()) {
            throw new IllegalArgumentException("not an object");
        }
        Form form = FORMS.get(type);
        @Nullable Object[] values = new @Nullable Object[form.parts().size()];
        for (int i = 0; i < values.length; i++) {
            Part part = form.parts().get(i);
            try {
                values[i] = part.inline() ? strict(part.type(), node) : component(part, node.get(part.key()));
            } catch (IllegalArgumentException e) {
                lost.accept(part.key(), e);
                values[i] = component(part, null);
            }
        }
        return form.construct(values);
    }

    private Object strict(Type type, JsonNode node) {
        return record((Class<?>) type, node, (key, e) -> {
            throw e;
        });
    }

    private @Nullable Object component(Part part, @Nullable JsonNode node) {
        if (node != null && !node.isNull()) {
            return value(part.type(), node);
        }
        return part.nullable() ? null : whenLeftOut(part);
    }

    private Object whenLeftOut(Part part) {
        Type type = part.type();
        if (type == String.class) {
            return "";
        } else if (type == int.class) {
            return 0;
        } else if (type == long.class) {
            return 0L;
        } else if (type == boolean.class) {
            return false;
        } else if (type instanceof ParameterizedType generic) {
            return generic.getRawType() == ImmutableList.class ? ImmutableList.of() : ImmutableSortedMap.of();
        } else if (type instanceof Class<?> c && hasParts(c)) {
            return strict(c, json.createObjectNode());
        }
        throw new IllegalArgumentException(part.key() + " is missing");
    }

    private Object value(Type type, JsonNode node) {
        if (type instanceof ParameterizedType list && list.getRawType() == ImmutableList.class) {
            require(node.isArray(), type);
            return ImmutableList.copyOf(
                    Iterables.transform(node, element -> value(list.getActualTypeArguments()[0], element)));
        } else if (type instanceof ParameterizedType map && map.getRawType() == ImmutableSortedMap.class) {
            require(node.isObject(), type);
            ImmutableSortedMap.Builder<String, Object> entries = ImmutableSortedMap.naturalOrder();
            node.properties()
                    .forEach(entry ->
                            entries.put(entry.getKey(), value(map.getActualTypeArguments()[1], entry.getValue())));
            return entries.buildOrThrow();
        } else if (type == int.class || type == Integer.class) {
            require(node.isInt(), type);
            return node.intValue();
        } else if (type == long.class) {
            require(node.isIntegralNumber() && node.canConvertToLong(), type);
            return node.longValue();
        } else if (type == boolean.class) {
            require(node.isBoolean(), type);
            return node.booleanValue();
        } else if (type instanceof Class<?> c && c.isInterface()) {
            return strict(alternative(c, node.path(TYPE).asText()), node);
        } else if (type instanceof Class<?> c && hasParts(c)) {
            return strict(c, node);
        }
        require(node.isTextual(), type);
        return text((Class<?>) type, node.textValue());
    }

    /** The record of a sealed interface with this key. */
    private static Class<?> alternative(Class<?> type, String word) {
        for (Class<?> alternative : type.getPermittedSubclasses()) {
            Fields.Key key = alternative.getAnnotation(Fields.Key.class);
            if (key != null && key.value().equals(word)) {
                return alternative;
            }
        }
        throw new IllegalArgumentException("no such " + type.getSimpleName());
    }

    private static boolean hasParts(Class<?> type) {
        return type.isRecord() && type != Workload.class && type != WorkloadId.class;
    }

    private Object text(Class<?> type, String text) {
        if (type == String.class) {
            return text;
        } else if (type == Workload.class) {
            return documents.apply(text);
        } else if (type == WorkloadId.class) {
            return WorkloadId.parse(text).orElseThrow(() -> new IllegalArgumentException("names no workload"));
        } else if (type == Instant.class) {
            try {
                return Instant.parse(text);
            } catch (DateTimeException e) {
                throw new IllegalArgumentException("not a time", e);
            }
        } else if (type.isEnum()) {
            String name = text.replace("_", "");
            return Arrays.stream(type.getEnumConstants())
                    .filter(constant ->
                            ((Enum<?>) constant).name().replace("_", "").equalsIgnoreCase(name))
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("no such " + type.getSimpleName()));
        }
        throw new IllegalStateException(type + " has no stored form");
    }

    private static void require(boolean fits, Type type) {
        if (!fits) {
            throw new IllegalArgumentException("not a " + type.getTypeName());
        }
    }

    private ObjectNode tree(Record record) {
        ObjectNode node = json.createObjectNode();
        put(record, node);
        return node;
    }

    private void put(Record record, ObjectNode node) {
        Fields.Key word = record.getClass().getAnnotation(Fields.Key.class);
        if (word != null) {
            node.put(TYPE, word.value());
        }
        for (Part part : FORMS.get(record.getClass()).parts()) {
            Object value = part.of(record);
            if (value instanceof Record inline && part.inline()) {
                put(inline, node);
            } else if (value != null) {
                JsonNode written = tree(value);
                if (part.nullable() || !isEmpty(written)) {
                    node.set(part.key(), written);
                }
            }
        }
    }

    private JsonNode tree(Object value) {
        return switch (value) {
            case String text -> TextNode.valueOf(text);
            case Integer number -> IntNode.valueOf(number);
            case Long number -> LongNode.valueOf(number);
            case Boolean flag -> BooleanNode.valueOf(flag);
            case Enum<?> constant -> TextNode.valueOf(constant.name());
            case Instant instant -> TextNode.valueOf(instant.toString());
            case Workload workload -> TextNode.valueOf(texts.apply(workload));
            case WorkloadId id -> TextNode.valueOf(id.toString());
            case Record record -> tree(record);
            case Map<?, ?> map -> {
                ObjectNode entries = json.createObjectNode();
                map.forEach((key, element) -> entries.set((String) key, tree(element)));
                yield entries;
            }
            case List<?> list -> {
                ArrayNode elements = json.createArrayNode();
                list.forEach(element -> elements.add(tree(element)));
                yield elements;
            }
            default -> throw new IllegalStateException(value.getClass() + " has no stored form");
        };
    }

    private static boolean isEmpty(JsonNode node) {
        return node.isContainerNode()
                ? node.isEmpty()
                : node.isTextual()
                        ? node.textValue().isEmpty()
                        : node.isBoolean() ? !node.booleanValue() : node.longValue() == 0;
    }

    private record Part(String key, Type type, boolean nullable, boolean inline, Method accessor) {
        static Part of(RecordComponent component) {
            Fields.Key key = component.getAnnotation(Fields.Key.class);
            return new Part(
                    key == null ? component.getName() : key.value(),
                    component.getGenericType(),
                    component.getAnnotatedType().isAnnotationPresent(Nullable.class),
                    component.isAnnotationPresent(Inline.class),
                    component.getAccessor());
        }

        @Nullable
        Object of(Record record) {
            try {
                return accessor.invoke(record);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(accessor + " can't be read", e);
            }
        }
    }

    /** What there is to know of a record class. */
    private record Form(Constructor<?> constructor, ImmutableList<Part> parts) {
        static Form of(Class<?> type) {
            RecordComponent[] components = type.getRecordComponents();
            Class<?>[] parameters =
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            try {
                return new Form(
                        type.getDeclaredConstructor(parameters),
                        Arrays.stream(components).map(Part::of).collect(ImmutableList.toImmutableList()));
            } catch (NoSuchMethodException e) {
                throw new IllegalStateException(type + " is not a record", e);
            }
        }

        Object construct(@Nullable Object[] values) {
            try {
                return constructor.newInstance(values);
            } catch (InvocationTargetException e) {
                if (e.getCause() instanceof IllegalArgumentException refused) {
                    throw refused;
                }
                throw new IllegalStateException(constructor + " has failed", e);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(constructor + " can't be called with what was read", e);
            }
        }
    }
}
