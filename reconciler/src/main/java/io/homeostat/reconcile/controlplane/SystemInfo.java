package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableMap;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.Kernel;
import io.homeostat.observe.host.OsRelease;
import io.homeostat.proto.acp.AgentInfo;
import io.homeostat.proto.acp.AgentInfo.AgentCapability;
import io.homeostat.proto.acp.OSInfo;
import java.util.Locale;

/** What the agent reports about itself and the operating system. */
final class SystemInfo {
    private static final String NAME = "homeostat";

    private final String version;
    private final OsRelease release;
    private final Kernel kernel;
    private final String architecture;

    SystemInfo(String version, OsRelease release, Kernel kernel, String javaArchitecture) {
        this.version = version;
        this.release = release;
        this.kernel = kernel;
        this.architecture = architecture(javaArchitecture);
    }

    AgentInfo agent() {
        return AgentInfo.newBuilder()
                .setName(NAME)
                .setVersion(version)
                .setArchitecture(architecture)
                .addAgentCapabilities(AgentCapability.GET_AGENT_INFO)
                .addAgentCapabilities(AgentCapability.GET_OS_INFO)
                .addAgentCapabilities(AgentCapability.LIST_PLUGIN_STATES)
                .addAgentCapabilities(AgentCapability.CONFIGURE_PLUGIN_STATES)
                .addAgentCapabilities(AgentCapability.APPLY_PLUGIN_CONFIG)
                .build();
    }

    /** What can't be read is left empty. */
    OSInfo os() {
        ImmutableMap<String, String> names = seen(release.read(), ImmutableMap.of());
        return OSInfo.newBuilder()
                .setType("linux")
                .setShortName(names.getOrDefault("ID", "linux"))
                .setLongName(names.getOrDefault("PRETTY_NAME", names.getOrDefault("NAME", "Linux")))
                .setVersion(names.getOrDefault("VERSION_ID", ""))
                .setArchitecture(seen(kernel.machine(), machine(architecture)))
                .setKernelRelease(seen(kernel.release(), ""))
                .setKernelVersion(seen(kernel.version(), ""))
                .build();
    }

    private static <T> T seen(Observation<T> look, T otherwise) {
        return switch (look) {
            case Observation.Seen<T>(T value) -> value;
            case Observation.Unseen<T>(String why) -> otherwise;
        };
    }

    /** By the names of uname(1). */
    private static String machine(String go) {
        return switch (go) {
            case "amd64" -> "x86_64";
            case "arm64" -> "aarch64";
            default -> go;
        };
    }

    /** By the names of Go and Debian, which control planes expect. */
    private static String architecture(String java) {
        return switch (java.toLowerCase(Locale.ROOT)) {
            case "x86_64", "amd64" -> "amd64";
            case "aarch64", "arm64" -> "arm64";
            default -> java;
        };
    }
}
