package io.homeostat.reconcile.command.output;

import java.util.regex.Pattern;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.resolver.ScalarResolver;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/** YAML as people write it, a key a line. */
public final class BlockYaml {
    private static final DumpSettings SETTINGS = DumpSettings.builder()
            .setDefaultFlowStyle(FlowStyle.BLOCK)
            .setSplitLines(false)
            .setSchema(new Quoting())
            .build();

    private BlockYaml() {}

    /** Writes maps, lists, texts, numbers and booleans. */
    public static String of(Object value) {
        return new Dump(SETTINGS).dumpToString(value);
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
