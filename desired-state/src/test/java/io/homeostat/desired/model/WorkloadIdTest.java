package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Any name can be said in one word of a command line and is read back. */
final class WorkloadIdTest {
    @ParameterizedTest
    @CsvSource({
        "ops-agent, plugin/ops-agent",
        "ops agent, plugin/ops%20agent",
        "../etc, plugin/..%2Fetc",
        "a+b:c@1=2~3, plugin/a+b:c@1=2~3",
        "100%, plugin/100%25",
        "%41, plugin/%2541",
        "für, plugin/f%C3%BCr"
    })
    void aNameIsWrittenWithoutAnythingSpecial(String name, String written) {
        WorkloadId id = WorkloadId.plugin(name);

        assertEquals(written, id.toString());
        assertEquals(Optional.of(id), WorkloadId.parse(written));
    }

    @ParameterizedTest
    @ValueSource(strings = {"ops agent", "a/b", "100%", "50%of", "für", "$(reboot)"})
    void aNameMayAlsoBeWrittenAsItIs(String name) {
        assertEquals(Optional.of(WorkloadId.plugin(name)), WorkloadId.parse("Plugin/" + name));
    }

    @Test
    void whatTerminalsObeyIsNeverPrinted() {
        WorkloadId id = WorkloadId.process("a\u001b[2J\n\u0000\u202eb\ud83d\ude00");

        assertTrue(id.toString().matches("process/[!-~]+"), id::toString);
        assertEquals(Optional.of(id), WorkloadId.parse(id.toString()));
    }
}
