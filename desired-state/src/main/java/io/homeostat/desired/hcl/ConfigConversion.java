package io.homeostat.desired.hcl;

import com.google.protobuf.ByteString;
import java.util.List;

/** What became of a configuration. */
public sealed interface ConfigConversion {
    /**
     * It is good.
     *
     * @param msgpack what the driver wants
     */
    record Converted(ByteString msgpack) implements ConfigConversion {}

    /**
     * It is not.
     *
     * @param problems all that is wrong, at least one
     */
    record Refused(List<ConfigProblem> problems) implements ConfigConversion {
        public Refused {
            problems = List.copyOf(problems);
        }
    }
}
