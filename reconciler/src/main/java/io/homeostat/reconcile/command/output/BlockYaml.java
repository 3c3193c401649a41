package io.homeostat.reconcile.command.output;

import io.homeostat.desired.model.VisibleText;
import java.util.regex.Pattern;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.api.DumpSettingsBuilder;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.resolver.ScalarResolver;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/** YAML as people write it, a key a line. */
public final class BlockYaml {
    private BlockYaml() {}

    private static DumpSettingsBuilder settings() {
        return DumpSettings.builder()
                .setDefaultFlowStyle(FlowStyle.BLOCK)
                .setSplitLines(false)
                .setSchema(new Quoting());
    }

    /** Writes maps, lists, texts, numbers and booleans. Where a character is not visible, all that are not ASCII are escaped. */
    public static String of(Object value) {
        String text = new Dump(settings().build()).dumpToString(value);
        return text.equals(VisibleText.lines(text))
                ? text
                : new Dump(settings().setUseUnicodeEncoding(false).build()).dumpToString(value);
    }

    /** Has texts quoted that some reader of YAML takes for numbers, such as 0027: ours refuses them then. */
    private static final class Quoting extends CoreSchema {
        private static final Pattern NUMBER =
                Pattern.compile("[-+]?(?:0[xob][0-9A-Fa-f_]+|[0-9][0-9_]*(?:\\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?)");

        @Override
        public ScalarResolver getScalarResolver() {
            ScalarResolver core = super.getScalarResolver();
            return (text, implicit) -> {
                Tag tag = core.resolve(text, implicit);
                return implicit && tag.equals(Tag.STR) && NUMBER.matcher(text).matches() ? Tag.INT : tag;
            };
        }
    }
}
