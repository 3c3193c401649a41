package io.homeostat.reconcile.agent.guest;

import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import io.homeostat.proto.kata.VolumeUsage;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/** Files that callers copy into this machine, and ask about. */
final class MachineFiles {
    /** Of st_mode, inode(7). */
    private static final int TYPE = 0170000;

    private static final int DIRECTORY = 0040000;
    private static final int LINK = 0120000;
    private static final int REGULAR = 0100000;
    private static final int PERMISSIONS = 07777;

    private final GuestPaths paths;

    MachineFiles(GuestPaths paths) {
        this.paths = paths;
    }

    /** A piece of a file, which is in its place when the last one has come; or a directory, or a link. */
    void copy(CopyFileRequest request) throws IOException {
        boolean isRegular = (request.getFileMode() & TYPE) == REGULAR;
        boolean isTooLong = request.getOffset() + request.getData().size() > request.getFileSize();
        if (request.getOffset() < 0 || request.getFileSize() < 0 || (isRegular && isTooLong)) {
            throw Refusals.invalid("the piece of " + request.getPath() + " does not lie within the file");
        }
        Path target = paths.copied(request.getPath());
        Path directory = target.resolveSibling("");
        SecureDirectories.create(
                directory, SecureDirectories.permissions(request.getDirMode() == 0 ? 0755 : request.getDirMode()));
        switch (request.getFileMode() & TYPE) {
            case DIRECTORY -> {
                if (!Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS)) {
                    Files.createDirectory(target);
                }
                own(target, request);
                mode(target, request);
            }
            case LINK -> {
                Path link = target.resolveSibling(target.getFileName() + ".tmp");
                Files.deleteIfExists(link);
                Files.createSymbolicLink(link, Path.of(request.getData().toStringUtf8()));
                own(link, request);
                Files.move(link, target, StandardCopyOption.ATOMIC_MOVE);
            }
            case 0, REGULAR -> regular(request, target);
            default -> throw Refusals.invalid(request.getPath() + " is no regular file, directory or link");
        }
    }

    private static void regular(CopyFileRequest request, Path target) throws IOException {
        Path part = target.resolveSibling(target.getFileName() + ".tmp");
        try (FileChannel file = FileChannel.open(
                part,
                ImmutableSet.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            if (request.getOffset() == 0) {
                // Of an attempt that was broken off.
                file.truncate(0);
            } else if (file.size() < request.getOffset()) {
                throw Refusals.invalid("a piece of " + request.getPath() + " is missing before this one");
            }
            ByteBuffer data = request.getData().asReadOnlyByteBuffer();
            long at = request.getOffset();
            while (data.hasRemaining()) {
                at += file.write(data, at);
            }
            if (at < request.getFileSize()) {
                return;
            }
            file.force(true);
        }
        own(part, request);
        mode(part, request);
        Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void own(Path file, CopyFileRequest request) throws IOException {
        if (request.getUid() >= 0 && request.getGid() >= 0) {
            Files.setAttribute(file, "unix:uid", request.getUid(), LinkOption.NOFOLLOW_LINKS);
            Files.setAttribute(file, "unix:gid", request.getGid(), LinkOption.NOFOLLOW_LINKS);
        }
    }

    /** After its owner, which takes some bits away. */
    private static void mode(Path file, CopyFileRequest request) throws IOException {
        Files.setAttribute(file, "unix:mode", request.getFileMode() & PERMISSIONS, LinkOption.NOFOLLOW_LINKS);
    }

    /** How full the file system of a path is. */
    VolumeStatsResponse volume(String path) throws IOException {
        Path real = paths.real(path);
        if (!path.startsWith("/") || !Files.exists(real)) {
            throw Refusals.noFile(path);
        }
        File there = real.toFile();
        return VolumeStatsResponse.newBuilder()
                .addUsage(VolumeUsage.newBuilder()
                        .setUnit(VolumeUsage.Unit.BYTES)
                        .setTotal(there.getTotalSpace())
                        .setAvailable(there.getUsableSpace())
                        .setUsed(there.getTotalSpace() - there.getFreeSpace()))
                .build();
    }
}
