package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.Streams;
import com.google.protobuf.ByteString;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Copies what an archive holds into a guest: each file in pieces, with its mode, owned by root. Repeated, it writes the same again. */
final class GuestFiles {
    /** The one place that agents let anybody write to. */
    static final String PLACE = "/run/kata-containers/shared/containers/homeostat/";

    private static final int PIECE = 1 << 20;

    /** As st_mode has them. */
    private static final int DIRECTORY = 0040000;

    private static final int FILE = 0100000;
    private static final int LINK = 0120000;
    private static final int DIRECTORY_MODE = 0755;
    private static final int LINK_MODE = 0777;

    private GuestFiles() {}

    /** @param to in the guest, below {@link #PLACE} */
    static void copy(Path tree, String to, GuestChanges changes)
            throws IOException, Refused, UnreachableGuest, InterruptedException {
        List<Path> paths;
        try (Stream<Path> all = Files.walk(tree)) {
            // No archive has anything that is called like what we keep beside its files.
            paths = all.filter(path -> !tree.relativize(path).toString().startsWith(InstallationMarker.FILE))
                    .sorted(order(tree))
                    .toList();
        }
        makeParents(to, changes);
        for (Path path : paths) {
            String relative = tree.relativize(path).toString();
            CopyFileRequest.Builder request = CopyFileRequest.newBuilder()
                    .setPath(relative.isEmpty() ? to : to + "/" + relative)
                    // Some agents give it to a directory that is there as well.
                    .setDirMode(path.equals(tree) ? DIRECTORY_MODE : mode(path.resolveSibling("")));
            if (Files.isSymbolicLink(path)) {
                byte[] target = Files.readSymbolicLink(path).toString().getBytes(StandardCharsets.UTF_8);
                changes.copyFile(request.setFileMode(LINK | LINK_MODE)
                        .setFileSize(target.length)
                        .setData(ByteString.copyFrom(target))
                        .build());
            } else if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                changes.copyFile(request.setFileMode(DIRECTORY | mode(path)).build());
            } else {
                copyFile(path, request.setFileMode(FILE | mode(path)), changes);
            }
        }
    }

    /** Some agents don't. */
    private static void makeParents(String to, GuestChanges changes)
            throws Refused, UnreachableGuest, InterruptedException {
        for (int slash = PLACE.length() - 1; slash > 0; slash = to.indexOf('/', slash + 1)) {
            changes.copyFile(CopyFileRequest.newBuilder()
                    .setPath(to.substring(0, slash))
                    .setFileMode(DIRECTORY | DIRECTORY_MODE)
                    .setDirMode(DIRECTORY_MODE)
                    .build());
        }
    }

    /**
     * Each directory before what is in it, and what is called x.tmp after all that may be called x.y: an agent writes a file under the former
     * name first.
     */
    private static Comparator<Path> order(Path tree) {
        return Comparator.comparing(path -> Streams.stream(tree.relativize(path))
                .map(name -> (name.toString().endsWith(".tmp") ? "1" : "0") + name)
                .collect(Collectors.joining("\u0000")));
    }

    private static void copyFile(Path path, CopyFileRequest.Builder request, GuestChanges changes)
            throws IOException, Refused, UnreachableGuest, InterruptedException {
        long size = Files.size(path);
        request.setFileSize(size);
        try (InputStream in = Files.newInputStream(path)) {
            long at = 0;
            // An empty file is made by one empty piece.
            do {
                byte[] piece = in.readNBytes((int) Math.min(PIECE, size - at));
                if (piece.length == 0 && at < size) {
                    throw new IOException(path + " was cut short while it was read");
                }
                changes.copyFile(request.setOffset(at)
                        .setData(ByteString.copyFrom(piece))
                        .build());
                at += piece.length;
            } while (at < size);
        }
    }

    private static int mode(Path path) throws IOException {
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS);
        int mode = 0;
        for (PosixFilePermission one : PosixFilePermission.values()) {
            // In the order of the bits, the highest first.
            mode = mode << 1 | (permissions.contains(one) ? 1 : 0);
        }
        return mode;
    }
}
