# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Inside, across the edges, and beyond them; one image is used twice.
ROIS = np.array(
    [
        [0.3, 0.7, 4.1, 5.2],
        [-1.4, 2.1, 3.3, 8.9],
        [1.0, 1.5, 1.2, 1.6],
        [3.2, 0.1, 12.0, 4.4],
    ]
)
IMAGES = np.array([1, 0, 1, 1])


def roi_align(name, size, scale, ratio, mode):
    def reference(x, rois, images):
        import torchvision

        boxes = torch.cat([images[:, None].to(rois), rois], 1)
        return torchvision.ops.roi_align(
            x, boxes, size, scale, ratio, aligned=mode == "half_pixel"
        )

    return Case(
        name,
        f"""
        y = RoiAlign<output_height={size[0]}, output_width={size[1]},
          spatial_scale={scale}, sampling_ratio={ratio},
          coordinate_transformation_mode="{mode}">(x, rois, images)
        """,
        {"x": (2, 2, 6, 5), "rois": ROIS, "images": IMAGES},
        wrt=("x",),
        torch=reference,
    )


CASES = [
    roi_align("half-pixel", (2, 3), 1.0, 2, "half_pixel"),
    roi_align("output-half-pixel", (2, 3), 1.0, 2, "output_half_pixel"),
    roi_align("adaptive", (2, 1), 1.0, 0, "half_pixel"),
    roi_align("adaptive-output", (1, 2), 1.0, 0, "output_half_pixel"),
    roi_align("scaled", (3, 2), 0.5, 3, "half_pixel"),
]
