package io.homeostat.reconcile.runtime.driver;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.hcl.ConfigConversion;
import io.homeostat.desired.hcl.ConfigProblem;
import io.homeostat.desired.hcl.DriverSchema;
import io.homeostat.desired.hcl.SchemaException;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.FieldCheck.FieldProblem;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Configuration as a driver's schema wants it. */
public final class DriverConfig {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final TypeReference<Map<String, @Nullable Object>> MAP = new TypeReference<>() {};

    /** Where it stands in a document. */
    public static final ImmutableList<String> FIELD = ImmutableList.of("spec", "config");

    private DriverConfig() {}

    /** What the schema refuses of what is declared there; nothing when the schema itself can't be used. */
    public static FieldCheck checked(Spec schema, @Nullable ObjectNode declared) {
        try {
            return new FieldCheck(
                    FIELD,
                    DriverSchema.of(schema).convert(map(declared)) instanceof ConfigConversion.Refused(var problems)
                            ? problems.stream()
                                    .map(problem -> new FieldProblem(
                                            ImmutableList.builder()
                                                    .addAll(FIELD)
                                                    .addAll(problem.path())
                                                    .build(),
                                            problem.message()))
                                    .collect(ImmutableList.toImmutableList())
                            : ImmutableList.of(),
                    "");
        } catch (SchemaException e) {
            return FieldCheck.unchecked(FIELD, unusable(e));
        }
    }

    /**
     * What is declared at a field, in msgpack.
     *
     * @param field such as {@code spec.config}, for messages
     * @throws DriverFailure when the schema refuses it, with all that is wrong
     */
    public static byte[] converted(String field, Spec schema, @Nullable ObjectNode declared) throws DriverFailure {
        try {
            return switch (DriverSchema.of(schema).convert(map(declared))) {
                case ConfigConversion.Converted converted -> converted.msgpack().toByteArray();
                case ConfigConversion.Refused(List<ConfigProblem> problems) ->
                    throw new DriverFailure(problems.stream()
                            .map(problem -> field + (problem.place().isEmpty() ? "" : ".") + problem.place() + ": "
                                    + problem.message())
                            .collect(Collectors.joining("; ")));
            };
        } catch (SchemaException e) {
            throw new DriverFailure(unusable(e));
        }
    }

    private static Map<String, @Nullable Object> map(@Nullable ObjectNode declared) {
        return declared == null ? Map.of() : JSON.convertValue(declared, MAP);
    }

    private static String unusable(SchemaException e) {
        return "the driver's schema can't be used: " + e.getMessage();
    }
}
