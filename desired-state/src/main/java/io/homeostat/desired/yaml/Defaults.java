package io.homeostat.desired.yaml;

import io.homeostat.desired.yaml.FieldType.Text;
import io.homeostat.desired.yaml.Node.Scalar;
import java.util.ArrayList;
import java.util.List;

/** Reads the defaults that the model is annotated with. */
final class Defaults {
    private Defaults() {}

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
