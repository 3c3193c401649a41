package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.Device;
import io.homeostat.proto.kata.Hooks;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.SharedMount;
import io.homeostat.proto.kata.StringUser;
import java.io.IOException;
import java.nio.file.Files;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that CreateContainer refuses before it does anything. */
class RequestChecksTest extends GuestTestBed {
    private RequestChecks checks;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        checks = new RequestChecks(
                guest.paths, new OciRuntime(FakeRuntime.PROGRAM, guest.paths.runtime(), guest.commands, guest.ticker));
        Files.createDirectories(guest.paths.sandboxMark().getParent());
        Files.createFile(guest.paths.sandboxMark());
    }

    private Status.Code refused(CreateContainerRequest.Builder request) {
        return assertThrows(StatusRuntimeException.class, () -> checks.check(request.build()))
                .getStatus()
                .getCode();
    }

    @Test
    void aUsualContainerIsNotRefused() throws IOException {
        CreateContainerRequest request = guest.container("app").build();

        assertDoesNotThrow(() -> checks.check(request));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "-ab", "a/b", "..", "a b"})
    void aContainerHasAProperId(String id) throws IOException {
        assertEquals(Status.Code.INTERNAL, refused(guest.container(id)));
    }

    @Test
    void aContainerNeedsASandbox() throws IOException {
        Files.delete(guest.paths.sandboxMark());

        assertEquals(Status.Code.INTERNAL, refused(guest.container("app")));
    }

    static Stream<UnaryOperator<CreateContainerRequest.Builder>> unsupported() {
        return Stream.of(
                request -> request.setSandboxPidns(true),
                request -> request.addDevices(Device.getDefaultInstance()),
                request -> request.addSharedMounts(SharedMount.getDefaultInstance()),
                request -> request.setStringUser(StringUser.getDefaultInstance()),
                request -> request.setStdinPort(1),
                request -> request.setStdoutPort(1),
                request -> request.setStderrPort(1),
                request -> {
                    request.getOCIBuilder().setHooks(Hooks.getDefaultInstance());
                    return request;
                });
    }

    @ParameterizedTest
    @MethodSource("unsupported")
    void whatContainersCanNotHaveHereIsRefused(UnaryOperator<CreateContainerRequest.Builder> change)
            throws IOException {
        assertEquals(Status.Code.UNIMPLEMENTED, refused(change.apply(guest.container("app"))));
    }

    @Test
    void theRootFileSystemHasAnAbsolutePath() throws IOException {
        CreateContainerRequest.Builder request = guest.container("app");
        request.getOCIBuilder().getRootBuilder().setPath("rootfs");

        assertEquals(Status.Code.INTERNAL, refused(request));
    }

    @Test
    void aContainerHasACommand() throws IOException {
        CreateContainerRequest.Builder request = guest.container("app");
        request.getOCIBuilder().setProcess(Process.getDefaultInstance());

        assertEquals(Status.Code.INTERNAL, refused(request));
    }

    static Stream<LinuxCapabilities.Builder> unknown() {
        return Stream.of(
                LinuxCapabilities.newBuilder().addBounding("CAP_NONSENSE"),
                LinuxCapabilities.newBuilder().addEffective("CAP_NONSENSE"),
                LinuxCapabilities.newBuilder().addInheritable("CAP_NONSENSE"),
                LinuxCapabilities.newBuilder().addPermitted("CAP_NONSENSE"),
                LinuxCapabilities.newBuilder().addAmbient("CAP_NONSENSE"),
                LinuxCapabilities.newBuilder().addAmbient("NONSENSE"));
    }

    @ParameterizedTest
    @MethodSource("unknown")
    void aCapabilityThatTheRuntimeWouldLeaveOutIsRefused(LinuxCapabilities.Builder capabilities) throws IOException {
        CreateContainerRequest.Builder request = guest.container("app");
        request.getOCIBuilder().getProcessBuilder().setCapabilities(capabilities);

        assertEquals(Status.Code.INTERNAL, refused(request));
    }

    @Test
    void knownCapabilitiesHaveAPrefixOrNone() throws IOException {
        CreateContainerRequest.Builder request = guest.container("app");
        request.getOCIBuilder()
                .getProcessBuilder()
                .setCapabilities(
                        LinuxCapabilities.newBuilder().addBounding("CAP_CHOWN").addAmbient("CHOWN"));

        assertDoesNotThrow(() -> checks.check(request.build()));
    }
}
