package io.homeostat.reconcile.secrets;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Streams;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.schema.Fields.Location;
import io.homeostat.desired.model.schema.Fields.Secret;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.observe.files.EnvironmentFile;
import io.homeostat.observe.files.FileContents;
import io.homeostat.observe.files.FileValue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The secrets of a declaration: fields marked {@link Secret}, its whole configuration, the values of its environment, also those in files, queries and user information of its URLs, and
 * all arguments that are not names of options. That is for logs and for what is given away, where nobody looks at each value; {@link ShownDeclaration} shows more.
 */
public final class DeclaredSecrets {
    private static final Logger LOG = LoggerFactory.getLogger(DeclaredSecrets.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Splitter LINES = Splitter.on('\n').trimResults().omitEmptyStrings();
    private static final Splitter WORDS =
            Splitter.onPattern("[\\s,;\"'{}\\[\\]()<>]+").omitEmptyStrings();

    /** The value of {@code key=value} and {@code key: value}. */
    private static final Pattern ASSIGNED = Pattern.compile("[:=][ \\t]{0,20}[\"']?([^\\s\"',;{}\\[\\]]+)");

    /** The name and the value of the same. */
    private static final Pattern NAMED = Pattern.compile(
            "(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]{1,128})[\"']?[ \\t]{0,20}[:=][ \\t]{0,20}[\"']?([^\\s\"',;{}\\[\\]]+)");

    private static final Pattern LETTER_AND_DIGIT = Pattern.compile("(?=[^/]*[A-Za-z])(?=[^/]*[0-9])[^/].{5,}");
    private static final Pattern PASSWORD = Pattern.compile("(?=\\S*[A-Za-z])(?=\\S*[0-9])\\S{6,}");

    private static final int LONG_WORD = 16;
    private static final int SHORTEST_GIVEN = 8;

    /** Components of each record class, kept because the JDK reads their annotations anew each time it is asked for them. */
    private static final ClassValue<ImmutableList<Field>> FIELDS = new ClassValue<>() {
        @Override
        protected ImmutableList<Field> computeValue(Class<?> type) {
            return Stream.of(type.getRecordComponents()).map(Field::of).collect(ImmutableList.toImmutableList());
        }
    };

    private DeclaredSecrets() {}

    /** A component of a record of the model. */
    private record Field(String name, Method accessor, boolean isSecret, boolean isLocation) {
        static Field of(RecordComponent component) {
            return new Field(
                    component.getName(),
                    component.getAccessor(),
                    component.isAnnotationPresent(Secret.class),
                    component.isAnnotationPresent(Location.class));
        }

        @Nullable
        Object value(Record record) {
            try {
                return accessor.invoke(record);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("can't read " + accessor, e);
            }
        }
    }

    /** Teaches the mask all of them. */
    public static void learn(Workload workload, SecretMask mask) {
        JsonNode spec = tree(workload).path("spec");
        learnGiven(workload, mask);
        url(spec.path("source").path("url").asText(""), mask);
        url(spec.path("probe").path("http").path("url").asText(""), mask);
        arguments(spec.path("arguments"), mask);
        arguments(spec.path("command"), mask);
        arguments(spec.path("probe").path("exec").path("command"), mask);
        arguments(spec.path("reload").path("exec").path("command"), mask);
    }

    /**
     * A mask of what these programs alone can see, for texts that are theirs. Texts shorter than eight characters also occur in other words,
     * and are learnt only where their name or a file of their own says that they are secret.
     */
    public static SecretMask given(Workload... workloads) {
        SecretMask mask = new SecretMask(SHORTEST_GIVEN);
        for (Workload workload : workloads) {
            learnGiven(workload, mask);
            learnFiles(workload, mask);
        }
        return mask;
    }

    /**
     * A mask of what a workload may have been given by any of its launches, for texts that are its own: it may still know what is declared no more.
     *
     * @param declared what is declared of it
     */
    public static SecretMask everGiven(
            Stream<Workload> declared, WorkloadHistory history, ImmutableList<StoredRevision> revisions) {
        return given(Stream.of(
                        declared,
                        history.standIns().stream().map(LastKnownGood::workload),
                        revisions.stream().map(StoredRevision::workload))
                .flatMap(workloads -> workloads)
                .distinct()
                .toArray(Workload[]::new));
    }

    /** Teaches the mask what the files that the program's environment is in hold now; what they held at its launch, {@link LaunchedValues} may know. */
    public static void learnFiles(Workload workload, SecretMask mask) {
        JsonNode spec = tree(workload).path("spec");
        ProgramUser user = workload.spec().runsAs();
        spec.path("envFiles")
                .forEach(path -> bytes(user, path).ifPresent(bytes -> {
                    text(new String(bytes, StandardCharsets.UTF_8), mask);
                    EnvironmentFile.of(bytes).variables().forEach((name, value) -> variable(name, value, mask));
                }));
        spec.path("env")
                .forEach(value -> bytes(user, value.path("file")).ifPresent(bytes -> {
                    String secret = FileValue.of(bytes).text();
                    text(secret, mask);
                    mask.learnNamed(secret);
                }));
    }

    private static void variable(String name, String value, SecretMask mask) {
        text(value, mask);
        if (SecretForms.isName(name)) {
            mask.learnNamed(value);
        }
    }

    private static Optional<byte[]> bytes(@Nullable ProgramUser user, JsonNode path) {
        if (!path.isTextual()) {
            return Optional.empty();
        }
        try {
            return Optional.of(FileContents.read(user, path.textValue()));
        } catch (IOException e) {
            LOG.debug("what is secret in {} can't be masked: {}", path.textValue(), e.getMessage());
            return Optional.empty();
        }
    }

    /** Teaches the mask only what the program alone can see: marked fields, its configuration and the values of its environment. */
    public static void learnGiven(Workload workload, SecretMask mask) {
        JsonNode spec = tree(workload).path("spec");
        // What is in a file is not here, and its path is no secret.
        spec.path("env").properties().stream()
                .filter(variable -> variable.getValue().isTextual())
                .forEach(variable ->
                        variable(variable.getKey(), variable.getValue().textValue(), mask));
        eachMarked(workload, spec, (object, name) -> {
            JsonNode value = object.path(name);
            texts(value, mask);
            named(name, value, mask);
            if (value.isTextual() && PASSWORD.matcher(value.textValue()).matches()) {
                // Nothing but a secret, by the looks of it.
                mask.learnNamed(value.textValue());
            }
        });
    }

    /** However short: what has the name of a secret, in a structure or on a line. */
    private static void named(String name, JsonNode value, SecretMask mask) {
        if (value.isObject()) {
            value.properties().forEach(field -> named(field.getKey(), field.getValue(), mask));
        } else if (value.isArray()) {
            value.forEach(one -> named(name, one, mask));
        } else if (SecretForms.isName(name)) {
            mask.learnNamed(value.asText());
        } else if (value.isTextual()) {
            Matcher line = NAMED.matcher(value.textValue());
            while (line.find()) {
                if (SecretForms.isName(line.group(1))) {
                    mask.learnNamed(line.group(2));
                }
            }
        }
    }

    /** Finds the fields that are marked, but for addresses, of which only a part is secret. */
    private static void eachMarked(Workload workload, JsonNode spec, BiConsumer<ObjectNode, String> found) {
        Set<String> names = new HashSet<>();
        marked(workload.spec(), names);
        eachNamed(spec, names, found);
    }

    private static void marked(@Nullable Object value, Set<String> names) {
        if (value instanceof Record record) {
            for (Field field : FIELDS.get(record.getClass())) {
                if (!field.isSecret()) {
                    marked(field.value(record), names);
                } else if (!field.isLocation()) {
                    names.add(field.name());
                }
            }
        } else if (value instanceof Map<?, ?> map) {
            map.values().forEach(one -> marked(one, names));
        } else if (value instanceof Collection<?> list) {
            list.forEach(one -> marked(one, names));
        }
    }

    private static void eachNamed(JsonNode node, Set<String> names, BiConsumer<ObjectNode, String> found) {
        if (node instanceof ObjectNode object) {
            for (String name : ImmutableList.copyOf(object.fieldNames())) {
                if (names.contains(name)) {
                    found.accept(object, name);
                } else {
                    eachNamed(object.path(name), names, found);
                }
            }
        } else {
            node.forEach(one -> eachNamed(one, names, found));
        }
    }

    private static void texts(JsonNode node, SecretMask mask) {
        if (node.isValueNode()) {
            text(node.asText(), mask);
        } else {
            node.forEach(child -> texts(child, mask));
        }
    }

    /** The whole text, its lines, the values in them, and words that look like secrets: a program may log any of these. */
    static void text(String secret, SecretMask mask) {
        mask.learn(secret);
        mask.learn(secret.strip());
        for (String line : LINES.split(secret)) {
            mask.learn(line);
            Matcher value = ASSIGNED.matcher(line);
            while (value.find()) {
                mask.learn(value.group(1));
            }
            WORDS.split(line).forEach(word -> word(word, mask));
        }
        url(secret, mask);
    }

    private static void word(String word, SecretMask mask) {
        if (word.length() >= LONG_WORD || LETTER_AND_DIGIT.matcher(word).matches()) {
            mask.learn(word);
        }
    }

    private static void arguments(JsonNode words, SecretMask mask) {
        learnWords(Streams.stream(words).map(JsonNode::asText).toList(), mask);
    }

    /** Teaches the mask all arguments of a command that nobody is to see, whole and in parts. */
    public static void learnArguments(Collection<String> arguments, SecretMask mask) {
        arguments.forEach(mask::learn);
        learnWords(arguments, mask);
    }

    private static void learnWords(Collection<String> words, SecretMask mask) {
        boolean valueFollows = false;
        for (String word : words) {
            int equals = word.indexOf('=');
            String value = equals < 0 ? word : word.substring(equals + 1);
            if (valueFollows || (equals >= 0 && SecretMask.Patterns.isNameOfSecret(word.substring(0, equals)))) {
                text(value, mask);
            } else if (!word.startsWith("-") || equals >= 0) {
                WORDS.split(value).forEach(part -> word(part, mask));
            }
            if (word.startsWith("-") && word.length() > 2) {
                word(word.substring(2), mask);
            }
            url(word, mask);
            valueFollows = word.startsWith("-") && equals < 0 && SecretMask.Patterns.isNameOfSecret(word);
        }
    }

    private static void url(String url, SecretMask mask) {
        int scheme = url.indexOf("://");
        if (scheme < 0) {
            return;
        }
        int query = url.indexOf('?', scheme);
        if (query >= 0) {
            mask.learn(url.substring(query + 1));
            for (String part : Splitter.on('&').split(url.substring(query + 1))) {
                mask.learn(part.substring(part.indexOf('=') + 1));
            }
        }
        int end = url.indexOf('/', scheme + 3);
        String authority = url.substring(scheme + 3, end < 0 ? url.length() : end);
        int at = authority.lastIndexOf('@');
        if (at > 0) {
            String user = authority.substring(0, at);
            mask.learn(user);
            mask.learn(user.substring(user.indexOf(':') + 1));
        }
    }

    /** A declaration as JSON without its secrets, apart from those in URLs, which are removed from every text anyway. */
    public static String without(Workload workload) {
        JsonNode document = tree(workload);
        if (document.path("spec") instanceof ObjectNode spec) {
            replaceGiven(workload, spec, spec.textNode(SecretMask.MASK));
            onlyOptions(spec.path("arguments"), 0);
            onlyOptions(spec.path("probe").path("exec").path("command"), 1);
            onlyOptions(spec.path("reload").path("exec").path("command"), 1);
        }
        return document.toPrettyString() + "\n";
    }

    private static void replaceGiven(Workload workload, ObjectNode spec, JsonNode replacement) {
        if (spec.path("env") instanceof ObjectNode env) {
            env.properties().stream()
                    .filter(variable -> variable.getValue().isTextual())
                    .forEach(variable -> variable.setValue(replacement));
        }
        replaceMarked(workload, spec, replacement);
    }

    /** Replaces the configuration, and fields that are marked as secret. */
    static void replaceMarked(Workload workload, ObjectNode spec, JsonNode replacement) {
        if (spec.has("config")) {
            spec.set("config", replacement);
        }
        eachMarked(workload, spec, (object, name) -> object.set(name, replacement));
    }

    private static void onlyOptions(JsonNode node, int from) {
        if (node instanceof ArrayNode words) {
            for (int i = from; i < words.size(); i++) {
                String word = words.get(i).asText();
                int equals = word.indexOf('=');
                // -pSECRET is an option with its value.
                String shown = word.startsWith("--") || (word.startsWith("-") && word.length() == 2)
                        ? (equals < 0 ? word : word.substring(0, equals + 1) + SecretMask.MASK)
                        : SecretMask.MASK;
                words.set(i, words.textNode(shown));
            }
        }
    }

    /** A declaration as JSON, with its secrets. */
    public static JsonNode tree(Workload workload) {
        try {
            return JSON.readTree(DocumentCodec.toJson(workload));
        } catch (IOException e) {
            throw new UncheckedIOException("what was written a moment ago can't be read", e);
        }
    }
}
