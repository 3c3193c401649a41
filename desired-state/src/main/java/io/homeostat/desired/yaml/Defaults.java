package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.FieldType.Field;
import io.homeostat.desired.yaml.FieldType.Text;
import io.homeostat.desired.yaml.Node.Scalar;
import io.homeostat.desired.yaml.Node.Sequence;
import java.util.ArrayList;
import java.util.List;

/** Reads the defaults that the model is annotated with. */
final class Defaults {
    private Defaults() {}

    /** The elements of a default that is a list of texts. */
    static ImmutableList<String> texts(String text) {
        List<Node> nodes = new ArrayList<>();
        YamlText.read(text, new Report(text), nodes::add);
        return ((Sequence) nodes.getFirst())
                .elements().stream().map(element -> ((Scalar) element).text()).collect(ImmutableList.toImmutableList());
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
