package io.homeostat.desired.hcl;

import com.google.protobuf.ByteString;
import io.homeostat.desired.hcl.language.HclException;
import io.homeostat.desired.hcl.language.HclExpressions;
import io.homeostat.desired.hcl.language.HclNumber;
import io.homeostat.desired.hcl.language.HclValue;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a Nomad driver wants to be told, for itself or for a task. Converts a configuration exactly as Nomad does, which takes it for HCL
 * in JSON: text is a template, a block may be an object or a list of objects, and what is missing is null or the default of the schema.
 * Immutable.
 */
public final class DriverSchema {
    private final SchemaNode root;

    private DriverSchema(SchemaNode root) {
        this.root = root;
    }

    /**
     * Reads what a driver answered.
     *
     * @throws SchemaException when Nomad could not use it either
     */
    public static DriverSchema of(Spec spec) throws SchemaException {
        try {
            return new DriverSchema(new SchemaReader().read(spec, "", ""));
        } catch (RuntimeException | StackOverflowError e) {
            throw SchemaException.unreadable(e);
        }
    }

    /**
     * The keys that may be set, in the order of their names, those of a block after the block.
     *
     * @throws SchemaException when a default can't be written
     */
    public List<SchemaField> describe() throws SchemaException {
        try {
            return SchemaField.of(root);
        } catch (RuntimeException | StackOverflowError e) {
            throw SchemaException.unreadable(e);
        }
    }

    /** Converts a configuration whose templates can refer to no variables. */
    public ConfigConversion convert(Map<String, ? extends @Nullable Object> config) {
        return convert(config, Map.of());
    }

    /**
     * Converts a configuration.
     *
     * @param config as a reader of YAML or JSON gives it: maps with text as keys, lists, text, bools, numbers and nulls
     * @param variables what templates can refer to, in the same form, but with text that is taken as it stands
     */
    public ConfigConversion convert(
            Map<String, ? extends @Nullable Object> config, Map<String, ? extends @Nullable Object> variables) {
        List<ConfigProblem> problems = new ArrayList<>();
        try {
            HclValue value = new BodyDecoder(new HclExpressions(values(variables)), problems).decode(config, root);
            if (problems.isEmpty()) {
                return new ConfigConversion.Converted(ByteString.copyFrom(MsgpackWriter.write(value)));
            }
        } catch (HclException e) {
            problems.add(new ConfigProblem(List.of(), "the configuration " + e.getMessage()));
        } catch (StackOverflowError e) {
            // The limits on depth should make this impossible; an error in one configuration must not end the agent.
            problems.add(new ConfigProblem(List.of(), "the configuration is nested too deeply: write it simpler"));
        }
        return new ConfigConversion.Refused(problems);
    }

    private static Map<String, HclValue> values(Map<String, ? extends @Nullable Object> variables) {
        Map<String, HclValue> values = new LinkedHashMap<>();
        variables.forEach((name, value) -> values.put(name, value(value)));
        return values;
    }

    private static HclValue value(@Nullable Object variable) {
        return switch (variable) {
            case null -> HclValue.NULL;
            case String text -> HclValue.of(text);
            case Boolean value -> HclValue.of(value);
            case Number number ->
                HclValue.of(HclNumber.parse(number.toString())
                        .orElseThrow(() -> new IllegalArgumentException("a variable is no finite number")));
            case List<?> list ->
                HclValue.tuple(list.stream().map(DriverSchema::value).toList());
            case Map<?, ?> map -> {
                Map<String, HclValue> attributes = new LinkedHashMap<>();
                map.forEach((key, value) -> attributes.put(String.valueOf(key), value(value)));
                yield HclValue.object(attributes);
            }
            default -> throw new IllegalArgumentException("a variable is of " + variable.getClass());
        };
    }
}
