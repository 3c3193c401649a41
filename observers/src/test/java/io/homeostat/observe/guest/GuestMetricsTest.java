package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class GuestMetricsTest {
    private static final GuestMetrics NOTHING =
            new GuestMetrics(OptionalLong.empty(), OptionalLong.empty(), OptionalLong.empty());

    @Test
    void whatAnAgentWritesIsUnderstood() {
        String text = """
                # HELP kata_agent_scrape_count Metrics scrape count
                # TYPE kata_agent_scrape_count counter
                kata_agent_scrape_count 41
                # TYPE kata_guest_cpu_time gauge
                kata_guest_cpu_time{cpu="0",item="user"} 700
                kata_guest_cpu_time{cpu="total",item="guest"} 5000
                kata_guest_cpu_time{cpu="total",item="idle"} 9.31e+06
                kata_guest_cpu_time{cpu="total",item="iowait"} 9000
                kata_guest_cpu_time{cpu="total",item="irq"} 1
                kata_guest_cpu_time{cpu="total",item="nice"} 20
                kata_guest_cpu_time{cpu="total",item="softirq"} 300
                kata_guest_cpu_time{cpu="total",item="steal"} 8000
                kata_guest_cpu_time{cpu="total",item="system"} 4000
                kata_guest_cpu_time{cpu="total",item="user"} 50000
                # TYPE kata_guest_meminfo gauge
                kata_guest_meminfo{item="mem_available"} 1.5e+09
                kata_guest_meminfo{item="mem_free"} 1342177280
                kata_guest_meminfo{item="mem_total"} 2.061520896e+09
                """;

        // A hundred ticks are a second.
        assertEquals(
                new GuestMetrics(OptionalLong.of(41), OptionalLong.of(543_210_000_000L), OptionalLong.of(561_520_896)),
                GuestMetrics.parse(text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "kata_agent_scrape_count\n",
                "kata_agent_scrape_count -1\nkata_agent_scrape_count_of_others 2\n",
                "kata_agent_scrape_count 1.2.3\n",
                "kata_agent_scrape_count 9e99\nkata_guest_cpu_time{cpu=\"total\",item=\"user\"} 1e18\n",
                "kata_guest_meminfo{item=\"mem_total\"} 5\n",
                "kata_guest_meminfo{item=\"mem_available\"} 5\n",
                "kata_guest_cpu_time{cpu=\"1\",item=\"user\"} 5\n",
                "kata_guest_cpu_time{cpu=\"total\",item=\"user\"} NaN\n"
            })
    void whatIsNotThereOrMakesNoSenseIsNotKnown(String text) {
        assertEquals(NOTHING, GuestMetrics.parse(text));
    }

    /** Numbers that are not read at one moment need not fit together. */
    @Test
    void noLessThanNothingIsInUse() {
        String text = "kata_guest_meminfo{item=\"mem_available\"} 7\nkata_guest_meminfo{item=\"mem_total\"} 5\n";

        assertEquals(OptionalLong.of(0), GuestMetrics.parse(text).memoryBytes());
    }
}
