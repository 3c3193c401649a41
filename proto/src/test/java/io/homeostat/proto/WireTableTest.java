package io.homeostat.proto;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Descriptors.FileDescriptor;
import io.homeostat.proto.acp.AgentControlplaneProto;
import io.homeostat.proto.acs.AgentCommunicationProto;
import io.homeostat.proto.agent.AgentProto;
import io.homeostat.proto.goplugin.GrpcBrokerProto;
import io.homeostat.proto.goplugin.GrpcControllerProto;
import io.homeostat.proto.goplugin.GrpcStdioProto;
import io.homeostat.proto.kata.CsiProto;
import io.homeostat.proto.kata.HealthProto;
import io.homeostat.proto.kata.OciProto;
import io.homeostat.proto.kata.types.TypesProto;
import io.homeostat.proto.nomad.base.BaseProto;
import io.homeostat.proto.nomad.driver.DriverProto;
import io.homeostat.proto.nomad.hclspec.HclSpecProto;
import io.homeostat.proto.nomad.structs.AttributeProto;
import io.homeostat.proto.nomad.structs.RecoverableErrorProto;
import io.homeostat.proto.plugin.PluginCommProto;
import io.homeostat.proto.ttrpc.TtrpcProto;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Plugins and control planes that exist decide what our protocols are; the tables under wire/ record it. */
class WireTableTest {

    private static final Path PROTO = Path.of("src/main/proto");

    private static final List<FileDescriptor> GENERATED = List.of(
            AgentControlplaneProto.getDescriptor(),
            PluginCommProto.getDescriptor(),
            AgentCommunicationProto.getDescriptor(),
            AgentProto.getDescriptor(),
            RecoverableErrorProto.getDescriptor(),
            AttributeProto.getDescriptor(),
            HclSpecProto.getDescriptor(),
            BaseProto.getDescriptor(),
            DriverProto.getDescriptor(),
            GrpcBrokerProto.getDescriptor(),
            GrpcControllerProto.getDescriptor(),
            GrpcStdioProto.getDescriptor(),
            OciProto.getDescriptor(),
            CsiProto.getDescriptor(),
            TypesProto.getDescriptor(),
            io.homeostat.proto.kata.AgentProto.getDescriptor(),
            HealthProto.getDescriptor(),
            TtrpcProto.getDescriptor());

    @Test
    void whatTheTablesRecordIsWhatWeSpeakAndNothingElseIs() throws IOException {
        Set<String> recorded = recorded();
        Set<String> spoken = new TreeSet<>();
        GENERATED.forEach(file -> spoken.addAll(WireTable.of(file)));

        assertAll(
                () -> assertEquals(List.of(), inFirstOnly(recorded, spoken), "recorded, but not in our .proto files"),
                () -> assertEquals(List.of(), inFirstOnly(spoken, recorded), "in our .proto files, but not recorded"));
    }

    @Test
    void everyProtoFileIsComparedWithATable() throws IOException {
        try (Stream<Path> files = Files.walk(PROTO)) {
            assertEquals(
                    files.filter(Files::isRegularFile)
                            .map(file -> PROTO.relativize(file).toString())
                            .sorted()
                            .toList(),
                    GENERATED.stream().map(FileDescriptor::getName).sorted().toList());
        }
    }

    @Test
    void aTableLineBelongsToTheBlockAboveIt() {
        assertEquals(
                Set.of("message p.M", "message p.M | 1 string name", "message p.Empty"),
                WireTable.of("# a remark\nmessage p.M\n  1   string name\n\nmessage p.Empty\n"));
    }

    private static Set<String> recorded() throws IOException {
        Set<String> result = new TreeSet<>();
        try (Stream<Path> tables = Files.list(Path.of("src/test/resources/wire"))) {
            for (Path table : tables.toList()) {
                result.addAll(WireTable.of(Files.readString(table)));
            }
        }
        return result;
    }

    private static List<String> inFirstOnly(Set<String> first, Set<String> second) {
        return first.stream().filter(line -> !second.contains(line)).toList();
    }
}
